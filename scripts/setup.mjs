// @ts-check
// `node scripts/setup.mjs`: set-up by hand; the demo and the tests call setUp() themselves.
import { parseArgs } from 'node:util';
import { SetUpError } from './setup/command.mjs';
import { PRODUCT_STEPS, STEPS, setUp } from './setup/set-up.mjs';

const USAGE = `node scripts/setup.mjs [--only ${STEPS.join('|')}]… [--quiet] [--yes]

Sets up what Hasten needs and skips what is there: npm packages, the compiled sources, a Docker engine and the
sandbox image. --only runs single steps, --quiet prints failures alone, --yes answers all questions.`;

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      quiet: { type: 'boolean', default: false },
      yes: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(USAGE);
  const unknown = values.only?.find((name) => !STEPS.some((step) => step === name));
  if (unknown !== undefined) throw new SetUpError(`--only takes ${STEPS.join(', ')}, got ${unknown}.`);
  const log = values.quiet ? () => {} : (/** @type {string} */ line) => console.error(line);
  const steps =
    values.only === undefined ? PRODUCT_STEPS : STEPS.filter((step) => values.only?.includes(step));
  const { seconds, engine, image } = await setUp({ log, steps, yes: values.yes });
  if (engine !== undefined) log(`engine: ${engine.dockerHost} (${engine.how})`);
  if (image !== undefined) log(`image: ${image.tag} (${image.how})`);
  log(`set-up: done in ${seconds.toFixed(1)} s`);
}

main().catch((error) => {
  const expected = error instanceof SetUpError || error?.code?.startsWith?.('ERR_PARSE_ARGS');
  console.error(expected ? `set-up: ${error.message}` : error);
  process.exitCode = 1;
});
