// Runs inside the sandbox in the dependency phase: offers the registry mirror, which the host serves on a unix
// socket, as http://127.0.0.1:3128/, then runs the command given as arguments and ends with its exit code.
// It needs nothing but Node, since it runs before anything is installed.
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';

const PORT = 3128;
const SOCKET = process.env.HASTEN_EGRESS_SOCKET ?? '/run/egress/registry.sock';
const FORWARDED_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'];

/** Pipes one connection of the command to the host's socket; an error at either end closes both. */
function relay(client) {
  const upstream = connect(SOCKET);
  const closeBoth = () => {
    client.destroy();
    upstream.destroy();
  };
  client.on('error', closeBoth);
  upstream.on('error', closeBoth);
  client.pipe(upstream);
  upstream.pipe(client);
}

/** Ends with what the command ended with, a signal as 128 + its number like a shell does. */
function exitLike(code, signal) {
  process.exit(signal === null ? code : 128 + constants.signals[signal]);
}

const [command, ...args] = process.argv.slice(2);
if (command === undefined) {
  process.stderr.write('egress-shim: expected a command and its arguments, got none\n');
  process.exit(64);
}

const server = createServer({ allowHalfOpen: true }, relay);
server.on('error', (error) => {
  process.stderr.write(`egress-shim: cannot listen on 127.0.0.1:${PORT}: ${error.message}\n`);
  process.exit(70);
});
server.listen(PORT, '127.0.0.1', () => {
  const child = spawn(command, args, { stdio: 'inherit' });
  child.on('error', (error) => {
    process.stderr.write(`egress-shim: cannot start ${command}: ${error.message}\n`);
    process.exit(error.code === 'ENOENT' ? 127 : 126);
  });
  child.on('exit', exitLike);
  for (const signal of FORWARDED_SIGNALS) process.on(signal, () => child.kill(signal));
});
