/** Cuts long text to its head and tail, so that no tool output can fill the conversation. */

/** `text` when it has at most `limit` UTF-8 bytes, else its head and tail with a line that counts what is missing. */
export function headAndTail(text: string, limit: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= limit) return text;
  const note = `\n[… ${bytes.length - limit} bytes or a few more left out …]\n`;
  const room = Math.max(0, limit - Buffer.byteLength(note));
  const head = decodeWhole(bytes.subarray(0, Math.ceil(room / 2)));
  const tail = decodeWhole(bytes.subarray(bytes.length - Math.floor(room / 2)));
  return `${head}${note}${tail}`;
}

/** A cut may fall inside a character; the broken rest is dropped instead of shown as a replacement mark. */
function decodeWhole(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/^\uFFFD+|\uFFFD+$/g, '');
}
