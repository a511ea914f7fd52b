/**
 * Programs that run inside the sandbox, given to `node -e`: reading and editing one file with the check that its real
 * path stays in the workspace. Input: JSON on stdin. Exit 0 with the result on stdout; exit 3 with the refusal there.
 */

/** Exit code of a refusal that the model should read. */
export const REFUSED = 3;

const PRELUDE = `
const fs = require('node:fs');
const path = require('node:path');
const { isUtf8 } = require('node:buffer');
const input = JSON.parse(fs.readFileSync(0, 'utf8'));
const root = fs.realpathSync(input.root);
function say(text, code) { fs.writeSync(1, text); process.exit(code); }
function refuse(text) { say(text, ${REFUSED}); }
function entry(at) { try { return fs.lstatSync(at); } catch (error) { if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null; throw error; } }
function real(at) { try { return fs.realpathSync(at); } catch { return refuse(input.path + ': is a symbolic link that leads nowhere'); } }
function locate() {
  const full = path.join(root, input.path);
  let probe = full;
  while (entry(probe) === null) probe = path.dirname(probe);
  const where = path.relative(root, real(probe));
  if (where === '..' || where.startsWith('..' + path.sep) || path.isAbsolute(where)) refuse(input.path + ': leads outside the workspace through a symbolic link');
  if (where.split(path.sep).some((part) => /^\\.git[. ]*$/i.test(part))) refuse(input.path + ': leads into .git');
  return full;
}
function text(full) {
  const bytes = fs.readFileSync(full);
  if (bytes.includes(0) || !isUtf8(bytes)) refuse(input.path + ': is not UTF-8 text');
  return bytes.toString('utf8');
}
function regular(full) {
  const found = entry(full);
  if (found === null) refuse(input.path + ': no such file');
  if (found.isSymbolicLink()) refuse(input.path + ': is a symbolic link; only regular files are edited');
  if (!found.isFile()) refuse(input.path + ': is not a regular file');
}
`;

/** Input `{root, path, first, last}` (lines from 1, inclusive). A link inside the workspace is followed. */
export const READ_FILE = `${PRELUDE}
const full = locate();
if (entry(full) === null) refuse(input.path + ': no such file');
if (fs.statSync(full).isDirectory()) refuse(input.path + ': is a directory; use list_files');
if (!fs.statSync(full).isFile()) refuse(input.path + ': is not a regular file');
if (fs.statSync(full).size > 4194304) refuse(input.path + ': has more than 4 MiB; use search');
const lines = text(full).split('\\n');
if (lines.at(-1) === '') lines.pop();
const first = Math.min(input.first, Math.max(1, lines.length));
const last = Math.min(input.last, lines.length);
say('[' + input.path + ', lines ' + first + '-' + last + ' of ' + lines.length + ']\\n' + lines.slice(first - 1, last).join('\\n') + '\\n', 0);
`;

/** Input `{root, path, old, new}`: `old` must occur exactly once. */
export const EDIT_FILE = `${PRELUDE}
const full = locate();
regular(full);
const before = text(full);
const at = before.indexOf(input.old);
if (at < 0) refuse(input.path + ': the old text does not occur; read the file again and copy it exactly, white space included');
if (before.indexOf(input.old, at + 1) >= 0) refuse(input.path + ': the old text occurs more than once; give more lines around it');
fs.writeFileSync(full, before.slice(0, at) + input.new + before.slice(at + input.old.length));
say('edited ' + input.path, 0);
`;

/** Input `{root, path, content}`: makes or replaces a file, keeping the mode of an existing one. */
export const WRITE_FILE = `${PRELUDE}
const full = locate();
if (entry(full) !== null) regular(full);
fs.mkdirSync(path.dirname(full), { recursive: true });
fs.writeFileSync(full, input.content);
say('wrote ' + input.path + ' (' + Buffer.byteLength(input.content) + ' bytes)', 0);
`;
