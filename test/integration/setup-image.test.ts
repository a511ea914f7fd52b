// The sandbox image that set-up made, asked through the real engine.
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { createContext } from '../../scripts/setup/context.mjs';
import { ensureEngine } from '../../scripts/setup/engine.mjs';
import { ensureImage, sandboxImageNames } from '../../scripts/setup/image.mjs';

const run = promisify(execFile);
const context = createContext({ log: () => {}, yes: true });
const names = sandboxImageNames(context.root);

/** Runs a command as a sandbox does: no network, read-only, without rights. */
async function inSandbox(command: string[], extra: string[] = []) {
  const hardened = ['--network', 'none', '--read-only', '--cap-drop', 'ALL', '--init', '--tmpfs', '/tmp'];
  return run('docker', ['run', '--rm', ...hardened, ...extra, names.tag, ...command]);
}

beforeAll(async () => {
  await ensureImage(context, await ensureEngine(context));
}, 600_000);

test('the image of this checkout is found again, so nothing is built', async () => {
  const again = await ensureImage(context, await ensureEngine(context));
  expect(again).toMatchObject({ tag: names.tag, how: 'present' });
  const format =
    '{{.Id}} {{index .Config.Labels "hasten.sandbox"}} {{index .Config.Labels "hasten.toolchain"}}';
  const { stdout } = await run('docker', ['image', 'inspect', '--format', format, names.tag]);
  expect(stdout.trim().split(' ')).toEqual([again.id, names.hash, names.toolchainHash]);
});

describe('inside the image', () => {
  test('every tool that a repository may need starts', async () => {
    const tools = [
      'node',
      'npm',
      'pnpm',
      'yarn',
      'git',
      'python3',
      'gcc',
      'make',
      'hyperfine',
      'jq',
      'patch',
      'rg',
      'xz',
      'ps',
    ];
    const script = tools.map((tool) => `${tool} --version >/dev/null && echo ${tool}`).join('; ');
    const { stdout } = await inSandbox(['bash', '-c', script]);
    expect(stdout.trim().split('\n')).toEqual(tools);
  });

  test('the user has no rights and no program gives any', async () => {
    const { stdout } = await inSandbox([
      'bash',
      '-c',
      'id -u; find / -xdev -perm /6000 -type f 2>/dev/null | wc -l',
    ]);
    expect(stdout.trim().split('\n')).toEqual(['10001', '0']);
  });

  test('a native addon finds Node’s headers without network', async () => {
    const { stdout } = await inSandbox([
      'bash',
      '-c',
      'test -f "$npm_config_nodedir/include/node/node.h" && echo there',
    ]);
    expect(stdout.trim()).toBe('there');
  });
});

describe('the egress shim', () => {
  const shim = ['node', '/opt/hasten/egress-shim.mjs'];

  test('carries requests to the host’s socket and ends with the command’s exit code', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hasten-egress-'));
    const socket = join(folder, 'registry.sock');
    const server = createServer((request, response) => response.end(`mirror of ${request.url}`));
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    chmodSync(folder, 0o711);
    chmodSync(socket, 0o666);
    try {
      const mount = ['--volume', `${folder}:/run/egress:ro`];
      const ask = `fetch('http://127.0.0.1:3128/left-pad').then((r) => r.text()).then((t) => { console.log(t); process.exit(7); })`;
      const outcome = await inSandbox([...shim, 'node', '-e', ask], mount).catch((error) => error);
      expect(outcome).toMatchObject({ code: 7, stdout: 'mirror of /left-pad\n' });
    } finally {
      server.close();
      rmSync(folder, { recursive: true });
    }
  });

  test.each([
    ['a signal that ends the command', ['bash', '-c', 'kill -9 $$'], 137],
    ['a command that does not exist', ['no-such-command'], 127],
    ['no command', [], 64],
  ])('tells %s by its exit code', async (_what, command, code) => {
    await expect(inSandbox([...shim, ...command])).rejects.toMatchObject({ code });
  });
});
