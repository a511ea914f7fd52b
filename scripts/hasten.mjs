// @ts-check
// `npm run hasten -- …` from a checkout: the command `hasten`, after the set-up that a run needs. What set-up says
// goes to standard error, since the report of a run goes to standard output.
import { SetUpError } from './setup/command.mjs';
import { setUp } from './setup/set-up.mjs';

const isComparing = process.argv[2] === 'compare';
// What runs on this machine itself, or only shows its use, needs neither engine nor image.
const isWithoutEngine = isComparing && process.argv.some((word) => ['--host', '--help', '-h'].includes(word));

try {
  const { image } = await setUp(isWithoutEngine ? { steps: ['deps', 'build'] } : {});
  if (image !== undefined) process.env.HASTEN_SANDBOX_IMAGE ??= image.tag;
  await import(new URL('../dist/cli.js', import.meta.url).href);
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  console.error(`set-up: ${error.message}`);
  process.exitCode = isComparing ? 4 : 1;
}
