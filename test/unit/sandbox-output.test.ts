import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBoundedCapture } from '../../src/sandbox/bounded-capture.js';
import { createFrameDemultiplexer } from '../../src/sandbox/frame-demultiplexer.js';
import { takeMarker, watchedArgv } from '../../src/sandbox/watched-command.js';

function cut(whole: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted].map((start, i) => whole.subarray(start, sorted[i] ?? whole.length));
}

describe('bounded output', () => {
  it('keeps short output as it is, however it is cut', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.array(fc.nat()), (text, places) => {
        const bytes = Buffer.from(text);
        const capture = createBoundedCapture(bytes.length);
        for (const chunk of cut(bytes, places)) capture.push(chunk);
        expect(capture.finish()).toEqual({ text, totalBytes: bytes.length, truncated: false });
      }),
    );
  });

  it('keeps head and tail of long output and tells how many bytes are left out', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 60, maxLength: 400 }),
        fc.integer({ min: 8, max: 50 }),
        fc.array(fc.nat()),
        (text, limit, places) => {
          const bytes = Buffer.from(text);
          const capture = createBoundedCapture(limit);
          for (const chunk of cut(bytes, places)) capture.push(chunk);
          const output = capture.finish();
          expect(output.truncated).toBe(true);
          expect(output.totalBytes).toBe(bytes.length);
          const parts = /^([\s\S]*)\n\[… (\d+) bytes left out …\]\n([\s\S]*)$/.exec(output.text);
          const [, head = '', left = '', tail = ''] = parts ?? [];
          expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
          expect(Buffer.byteLength(head) + Number(left) + Buffer.byteLength(tail)).toBe(bytes.length);
          expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeLessThanOrEqual(limit);
          expect(output.text).not.toContain('\ufffd');
        },
      ),
    );
  });

  it('stays small and fast under a flood of small chunks', () => {
    const capture = createBoundedCapture(1000);
    const line = Buffer.from('y\n');
    for (let i = 0; i < 500_000; i += 1) capture.push(line);
    const output = capture.finish();
    expect(output.totalBytes).toBe(1_000_000);
    expect(output.text.length).toBeLessThan(1100);
  });
});

describe("Docker's attach stream", () => {
  it('is split into its two streams, however frames and chunks are cut', () => {
    const frame = fc.record({ type: fc.constantFrom(1, 2), payload: fc.uint8Array({ maxLength: 40 }) });
    fc.assert(
      fc.property(fc.array(frame), fc.array(fc.nat()), (frames, places) => {
        const whole = Buffer.concat(
          frames.map(({ type, payload }) => {
            const header = Buffer.alloc(8);
            header[0] = type;
            header.writeUInt32BE(payload.length, 4);
            return Buffer.concat([header, payload]);
          }),
        );
        const seen: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
        const push = createFrameDemultiplexer({
          stdout: (chunk) => seen.stdout.push(Buffer.from(chunk)),
          stderr: (chunk) => seen.stderr.push(Buffer.from(chunk)),
        });
        for (const chunk of cut(whole, places)) push(chunk);
        for (const [stream, type] of [
          ['stdout', 1],
          ['stderr', 2],
        ] as const) {
          const expected = frames
            .filter((one) => one.type === type)
            .map(({ payload }) => Buffer.from(payload));
          expect(Buffer.concat(seen[stream])).toEqual(Buffer.concat(expected));
        }
      }),
    );
  });
});

describe('the watcher around a command', () => {
  const options = { cwd: undefined, timeoutMs: 1500, marker: 'abc' };

  it('passes the command on as it is, never as part of a script', () => {
    const argv = watchedArgv(['echo', '$(id)', '; rm -rf /', "'"], options);
    expect(argv.slice(-4)).toEqual(['echo', '$(id)', '; rm -rf /', "'"]);
    expect(argv[2]).not.toContain('rm -rf');
    expect(argv[4]).toBe('12');
  });

  it('starts in a directory below the workspace only', () => {
    expect(watchedArgv(['true'], { ...options, cwd: 'a/b' })).toContain('/ws/a/b');
    for (const cwd of ['..', 'a/../..', '/etc', 'a/..']) {
      expect(() => watchedArgv(['true'], { ...options, cwd })).toThrow(/relative to the workspace/);
    }
  });

  it('takes its word out of stderr again', () => {
    const carried = { text: 'oops\n\nabc', totalBytes: 9, truncated: false };
    expect(takeMarker(carried, 'abc')).toEqual({
      found: true,
      stderr: { text: 'oops\n', totalBytes: 5, truncated: false },
    });
    const plain = { text: 'abc', totalBytes: 3, truncated: false };
    expect(takeMarker(plain, 'abc')).toEqual({ found: false, stderr: plain });
  });
});
