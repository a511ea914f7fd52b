// @ts-check
// `npm run demo`: all set-up, then one whole run on a real package. What set-up says goes to standard error.
import { spawn } from 'node:child_process';
import { SetUpError } from './setup/command.mjs';
import { ROOT } from './setup/context.mjs';
import { setUp } from './setup/set-up.mjs';

try {
  const { image } = await setUp();
  const env = { ...process.env };
  if (image !== undefined) env.HASTEN_SANDBOX_IMAGE ??= image.tag;
  const argv = ['--import', 'tsx', 'demo/demo.ts', ...process.argv.slice(2)];
  const child = spawn(process.execPath, argv, { cwd: ROOT, env, stdio: 'inherit' });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
    process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => process.exit(code ?? 1));
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  console.error(`set-up: ${error.message}`);
  process.exitCode = 1;
}
