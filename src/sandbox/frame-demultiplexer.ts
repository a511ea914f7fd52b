/** Splits Docker's attach stream (8-byte header, payload) into stdout and stderr, chunk by chunk without joining frames. */

export interface FrameSink {
  readonly stdout: (chunk: Buffer) => void;
  readonly stderr: (chunk: Buffer) => void;
}

const HEADER_BYTES = 8;
const STDERR = 2;

/** Returns a function that takes the stream's chunks in order, however they are cut. Format: Docker Engine API, "Attach to a container". */
export function createFrameDemultiplexer(sink: FrameSink): (chunk: Buffer) => void {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let payloadLeft = 0;
  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      if (payloadLeft === 0) {
        const taken = chunk.copy(header, headerBytes, at, at + HEADER_BYTES - headerBytes);
        headerBytes += taken;
        at += taken;
        if (headerBytes < HEADER_BYTES) return;
        headerBytes = 0;
        payloadLeft = header.readUInt32BE(4);
        continue;
      }
      const part = chunk.subarray(at, at + payloadLeft);
      at += part.length;
      payloadLeft -= part.length;
      if (header[0] === STDERR) sink.stderr(part);
      else sink.stdout(part);
    }
  };
}
