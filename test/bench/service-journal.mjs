// @ts-check
// Loaded into the service's process by `--import`: writes down when the service waited for whom (Docker engine, git, GitHub,
// model), one JSON object per line. It changes no call, and sees each from its start to the last byte of its answer.
import childProcess from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';

const file = process.env.HASTEN_BENCH_JOURNAL ?? '';
const MOST_BODY_BYTES = 4_000_000;

/** Epoch milliseconds with a fraction. */
const now = () => performance.timeOrigin + performance.now();

/** @param {object} entry */
function write(entry) {
  if (file !== '') appendFileSync(file, `${JSON.stringify(entry)}\n`);
}

const spawn = childProcess.spawn;
/** @type {any} */ (childProcess).spawn = (/** @type {[string, readonly string[], any]} */ ...args) => {
  const from = now();
  const child = spawn(...args);
  child.once('close', () => write({ peer: 'git', what: gitCommand(args[1]), from, to: now() }));
  return child;
};

/** @param {unknown} argv */
function gitCommand(argv) {
  return Array.isArray(argv) ? argv.join(' ').slice(0, 200) : '';
}

const request = http.request;
/** @type {any} */ (http).request = (/** @type {[any]} */ ...args) => {
  const from = now();
  const sent = request(...args);
  const { method, path } = sent;
  if (typeof args[0] === 'object' && args[0].socketPath !== undefined) follow(sent, method, path, from);
  return sent;
};
syncBuiltinESMExports();

/**
 * @param {import('node:http').ClientRequest} sent
 * @param {string} method
 * @param {string} path
 * @param {number} from
 */
function follow(sent, method, path, from) {
  const describes = method === 'POST' && /\/containers\/create|\/containers\/[^/]+\/exec$/.test(path);
  let body = '';
  if (describes) {
    for (const name of /** @type {const} */ (['write', 'end'])) {
      const original = sent[name];
      /** @type {any} */ (sent)[name] = (/** @type {any[]} */ ...args) => {
        if ((typeof args[0] === 'string' || Buffer.isBuffer(args[0])) && body.length < MOST_BODY_BYTES)
          body += args[0].toString();
        return Reflect.apply(original, sent, args);
      };
    }
  }
  let written = false;
  /** @param {object} more */
  const finish = (more) => {
    if (written) return;
    written = true;
    write({ peer: 'docker', method, path, from, to: now(), ...more });
  };
  sent.prependOnceListener('response', (response) => {
    let answer = '';
    if (describes) response.on('data', (chunk) => (answer += chunk.toString()));
    response.once('close', () => finish(describes ? { request: summary(body), answer } : {}));
  });
  // Without a hijacking caller there is no upgrade, and with one this listener stands beside its own.
  if (sent.getHeader('upgrade') !== undefined)
    sent.prependOnceListener('upgrade', (_response, socket) => socket.once('close', () => finish({})));
  sent.once('error', () => finish({}));
}

/** What of a create request tells the command. @param {string} body */
function summary(body) {
  try {
    const { Cmd, Env, Labels } = JSON.parse(body);
    return { Cmd, Env, Labels };
  } catch {
    return {};
  }
}

/** @type {WeakMap<object, { from: number, origin: string, path: string, method: string }>} */
const fetches = new WeakMap();

subscribe('undici:request:create', (message) => {
  const { request: asked } = /** @type {any} */ (message);
  fetches.set(asked, {
    from: now(),
    origin: String(asked.origin),
    path: String(asked.path).split('?')[0] ?? '',
    method: String(asked.method),
  });
});
for (const end of ['undici:request:trailers', 'undici:request:error']) {
  subscribe(end, (message) => {
    const { request: asked } = /** @type {any} */ (message);
    const seen = fetches.get(asked);
    if (seen === undefined) return;
    fetches.delete(asked);
    write({ peer: 'http', ...seen, to: now() });
  });
}
