// @ts-check
// `npm start`: the service, compiled when its sources changed. Without a Docker engine it starts all the same, says
// so, and its runs wait.
import { SetUpError } from './setup/command.mjs';
import { setUp } from './setup/set-up.mjs';

try {
  await setUp({ steps: ['deps', 'build'] });
  await haveSandbox();
  await import(new URL('../dist/main.js', import.meta.url).href);
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  console.error(`set-up: ${error.message}`);
  process.exitCode = 1;
}

async function haveSandbox() {
  try {
    const { image } = await setUp({ steps: ['engine', 'image'] });
    if (image !== undefined) process.env.HASTEN_SANDBOX_IMAGE ??= image.tag;
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    console.error(`set-up: ${error.message}`);
  }
}
