// @ts-check
// `npm run bench -- NAME [arguments]`: set-up, then the benchmark test/bench/NAME.ts. What set-up says goes to standard error.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetUpError } from './setup/command.mjs';
import { ROOT } from './setup/context.mjs';
import { STEPS, setUp } from './setup/set-up.mjs';

const FOLDER = join(ROOT, 'test', 'bench');

/** Names of the modules that are benchmarks: they tell their own usage. */
function benchmarks() {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.ts'))
    .filter((file) => readFileSync(join(FOLDER, file), 'utf8').includes('const USAGE = `npm run bench'))
    .map((file) => file.replace(/\.ts$/, ''));
}

const [name = '', ...args] = process.argv.slice(2);
if (!benchmarks().includes(name)) {
  console.error(`usage: npm run bench -- NAME [arguments]; there is: ${benchmarks().join(', ')}`);
  process.exitCode = name === '' || name === '--help' ? 0 : 1;
} else {
  try {
    const { image } = await setUp({ steps: STEPS });
    const env = { ...process.env };
    if (image !== undefined) env.HASTEN_SANDBOX_IMAGE ??= image.tag;
    const argv = ['--import', 'tsx', join('test', 'bench', `${name}.ts`), ...args];
    const child = spawn(process.execPath, argv, { cwd: ROOT, env, stdio: 'inherit' });
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
      process.on(signal, () => child.kill(signal));
    child.on('exit', (code) => process.exit(code ?? 1));
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    console.error(`set-up: ${error.message}`);
    process.exitCode = 1;
  }
}
