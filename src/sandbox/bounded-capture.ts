/** Keeps the head and the tail of a stream of any length and counts the middle. */
import type { BoundedOutput } from '../domain/sandbox.js';

export interface BoundedCapture {
  push(chunk: Buffer): void;
  /** Bytes seen so far. */
  totalBytes(): number;
  /** What was kept, as text. */
  finish(): BoundedOutput;
}

/** Keeps at most `limitBytes`: the first half and the last half. */
export function createBoundedCapture(limitBytes: number): BoundedCapture {
  const headLimit = Math.ceil(limitBytes / 2);
  const tailLimit = Math.floor(limitBytes / 2);
  const head: Buffer[] = [];
  let tail: Buffer[] = [];
  let headBytes = 0;
  let tailBytes = 0;
  let total = 0;

  const pushTail = (chunk: Buffer) => {
    tail.push(chunk);
    tailBytes += chunk.length;
    // Chunks are cut back in bulk, so that a flood of small ones stays linear.
    if (tailBytes > tailLimit * 2 + 65_536 || tail.length > 4096) {
      tail = [lastBytes(Buffer.concat(tail), tailLimit)];
      tailBytes = tail[0]?.length ?? 0;
    }
  };

  return {
    push(chunk) {
      total += chunk.length;
      const room = headLimit - headBytes;
      if (room > 0) {
        // Copied: a slice would keep the whole network buffer alive.
        head.push(Buffer.from(chunk.subarray(0, room)));
        headBytes += Math.min(room, chunk.length);
      }
      if (chunk.length > room) pushTail(Buffer.from(chunk.subarray(Math.max(room, 0))));
    },
    totalBytes: () => total,
    finish() {
      const first = Buffer.concat(head);
      const rest = Buffer.concat(tail);
      const last = lastBytes(rest, tailLimit);
      const omitted = total - first.length - last.length;
      if (omitted === 0) {
        return { text: Buffer.concat([first, last]).toString('utf8'), totalBytes: total, truncated: false };
      }
      const start = first.subarray(0, completeEnd(first));
      const end = last.subarray(completeStart(last));
      const left = total - start.length - end.length;
      return {
        text: `${start.toString('utf8')}\n[… ${left} bytes left out …]\n${end.toString('utf8')}`,
        totalBytes: total,
        truncated: true,
      };
    },
  };
}

function lastBytes(buffer: Buffer, count: number): Buffer {
  return buffer.length <= count ? buffer : Buffer.from(buffer.subarray(buffer.length - count));
}

/** Where the last complete UTF-8 character ends. */
function completeEnd(buffer: Buffer): number {
  for (let back = 1; back <= Math.min(3, buffer.length); back += 1) {
    const byte = buffer[buffer.length - back] ?? 0;
    if (byte < 0x80) return buffer.length;
    if (byte >= 0xc0) {
      const width = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return width > back ? buffer.length - back : buffer.length;
    }
  }
  return buffer.length;
}

/** Where the first complete UTF-8 character starts. */
function completeStart(buffer: Buffer): number {
  for (let i = 0; i < Math.min(3, buffer.length); i += 1) {
    if (((buffer[i] ?? 0) & 0xc0) !== 0x80) return i;
  }
  return Math.min(3, buffer.length);
}
