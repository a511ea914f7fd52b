// Runs inside the sandbox: starts a command under V8's coverage and answers with one JSON line that says which parts of
// the wanted files were executed. Request on standard input: { nonce, root, files, argv, stdin, timeoutMs }.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCoverageReader } from './coverage-reader.mjs';

const STDERR_CHARS = 4000;
const COLLECT_EVERY_MS = 300;

const request = JSON.parse(fs.readFileSync(0, 'utf8'));
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'hasten-coverage-'));
const reader = createCoverageReader({ directory, root: request.root, files: request.files });
const preload = fileURLToPath(new URL('./coverage-sources.cjs', import.meta.url));

const [program, ...args] = request.argv;
const child = spawn(program, args, {
  cwd: request.root,
  env: {
    ...process.env,
    NODE_V8_COVERAGE: directory,
    HASTEN_COVERAGE_ROOT: request.root,
    NODE_OPTIONS: [process.env.NODE_OPTIONS, `--require=${preload}`].filter(Boolean).join(' '),
  },
  stdio: ['pipe', 'ignore', 'pipe'],
});
child.stdin.on('error', () => {});
child.stdin.end(request.stdin ?? '');
let stderr = '';
child.stderr.on('data', (chunk) => {
  stderr = (stderr + chunk).slice(-STDERR_CHARS);
});
const collecting = setInterval(() => reader.collect(false), COLLECT_EVERY_MS);
const deadline = setTimeout(() => child.kill('SIGKILL'), request.timeoutMs);
child.on('error', (error) => {
  stderr = error.message;
  finish(null);
});
child.on('exit', (code) => finish(code));

let finished = false;

function finish(exitCode) {
  if (finished) return;
  finished = true;
  clearInterval(collecting);
  clearTimeout(deadline);
  reader.collect(true);
  const line = JSON.stringify({ nonce: request.nonce, exitCode, stderr, ...reader.answer() });
  process.stdout.write(`${line}\n`, () => process.exit(0));
}
