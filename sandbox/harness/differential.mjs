// Runs inside the sandbox: calls the functions of modules on generated inputs, each module in a child process under V8's
// coverage, and answers with one JSON line: what each call gave, and which parts of the wanted files were executed.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createCoverageReader } from './coverage-reader.mjs';

const MOST_CRASHES = 5;
const request = JSON.parse(fs.readFileSync(0, 'utf8'));
const { root, nonce, modules, plans } = request;
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'hasten-coverage-'));
const reader = createCoverageReader({ directory, root, files: request.files });
const subject = fileURLToPath(new URL('./differential-subject.mjs', import.meta.url));
const deadline = Date.now() + request.timeoutMs;

const answers = [];
for (let i = 0; i < modules.length; i++)
  answers.push(await answerOf(modules[i], plans === null ? null : plans[i]));
reader.collect(true);
const line = JSON.stringify({ nonce, modules: answers, ...reader.answer() });
process.stdout.write(`${line}\n`, () => process.exit(0));

async function answerOf(module, plan) {
  const answer = { path: module, error: null, functions: plan?.functions ?? [], calls: [], shown: [] };
  let from = null;
  for (let crashes = 0; crashes <= MOST_CRASHES && Date.now() < deadline; crashes++) {
    const { open, ended } = await child(module, plan, from, answer, crashes);
    if (ended || answer.error !== null) return answer;
    if (open === null)
      return {
        ...answer,
        error: answer.functions.length > 0 ? null : 'the process ended while it was loaded',
      };
    const [which, index, at] = open;
    answer.calls.push([which, index, 'crashed', '']);
    from = at + 1;
  }
  return answer;
}

/** `open` is the call that was under way when the process ended. */
function child(module, plan, from, answer, crashes) {
  return new Promise((resolve) => {
    const running = spawn(process.execPath, ['--max-old-space-size=384', '--no-warnings', subject], {
      cwd: root,
      env: { ...process.env, NODE_V8_COVERAGE: directory },
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
    });
    let open = null;
    let ended = false;
    const lines = readline.createInterface({ input: running.stdio[3] });
    lines.on('line', (text) => {
      const members = JSON.parse(text);
      if (members.start) open = members.start;
      else if (members.done) {
        open = null;
        answer.calls.push(members.done);
        if (members.text !== undefined)
          answer.shown.push({ call: members.done.slice(0, 2), input: members.input, text: members.text });
      } else if (members.functions) answer.functions = members.functions;
      else if (members.error) answer.error = members.error;
      else if (members.end) ended = true;
    });
    const timer = setTimeout(() => running.kill('SIGKILL'), Math.max(0, deadline - Date.now()));
    let closed = 0;
    const close = () => {
      if (++closed < 2) return;
      clearTimeout(timer);
      resolve({ open, ended });
    };
    lines.on('close', close);
    running.on('exit', close);
    running.stdin.on('error', () => {});
    const { recorded, literals, seed, chance, budgetMs, mostCalls, callMs, details } = request;
    const of = details?.filter((each) => each.module === module).map((each) => each.call) ?? null;
    const members = {
      recorded,
      literals,
      seed,
      chance,
      budgetMs: budgetMs / modules.length / (1 + crashes),
      mostCalls,
      callMs,
      plan,
      from,
      details: of,
    };
    running.stdin.end(JSON.stringify({ ...members, file: path.join(root, module) }));
  });
}
