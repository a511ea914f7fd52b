/** Reads request bodies under two bounds: bytes of one body, and bytes of all bodies that are being read at once. */
import type { IncomingMessage } from 'node:http';
import type { Refusal } from './http-answer.js';

export type BodyReading =
  | { readonly body: Buffer; readonly refusal: null }
  | { readonly body: null; readonly refusal: Refusal };

export interface BodyBounds {
  /** Bytes of one body. */
  readonly maxBytes: number;
  /** Bytes of all bodies in memory. */
  readonly maxTotalBytes: number;
}

/** One reader per server; it counts the bytes that are in memory. */
export class BodyReader {
  private held = 0;

  constructor(private readonly bounds: BodyBounds) {}

  /** Reads a body whole, or stops at a bound: then the caller answers with the refusal, which ends the connection. */
  async read(request: IncomingMessage): Promise<BodyReading> {
    const announced = Number(request.headers['content-length'] ?? 0);
    if (announced > this.bounds.maxBytes) return { body: null, refusal: this.tooLarge() };
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of request.iterator({ destroyOnReturn: false })) {
        const bytes: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
        size += bytes.length;
        this.held += bytes.length;
        if (size > this.bounds.maxBytes) return { body: null, refusal: this.tooLarge() };
        if (this.held > this.bounds.maxTotalBytes) return { body: null, refusal: BUSY };
        chunks.push(bytes);
      }
      return { body: Buffer.concat(chunks, size), refusal: null };
    } catch {
      return { body: null, refusal: BROKEN };
    } finally {
      this.held -= size;
    }
  }

  private tooLarge(): Refusal {
    return {
      status: 413,
      code: 'BODY_TOO_LARGE',
      message: `The body is larger than ${this.bounds.maxBytes} bytes.`,
      hint: 'HASTEN_MAX_BODY_BYTES sets the bound.',
      close: true,
    };
  }
}

const BUSY: Refusal = {
  status: 503,
  code: 'TOO_MUCH_AT_ONCE',
  message: 'Too many bodies are being received at once; nothing was stored.',
  hint: 'Send it again in a few seconds.',
  retryAfterSeconds: 5,
  close: true,
};

const BROKEN: Refusal = {
  status: 400,
  code: 'BODY_INCOMPLETE',
  message: 'The request ended before its body did.',
  hint: 'Send it again.',
  close: true,
};
