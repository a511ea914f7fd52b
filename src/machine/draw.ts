/** Command line of the picture: writes `docs/machine.md`, or with `--check` fails when it is stale. */
import { readFileSync, writeFileSync } from 'node:fs';
import { drawMachine } from './machine-picture.js';

const target = new URL('../../docs/machine.md', import.meta.url);
const drawn = drawMachine();

if (process.argv.includes('--check')) {
  let stored = '';
  try {
    stored = readFileSync(target, 'utf8');
  } catch {
    stored = '';
  }
  if (stored !== drawn) {
    console.error(
      'docs/machine.md is stale: the machine changed. Run `npm run picture` and commit the result.',
    );
    process.exit(1);
  }
} else {
  writeFileSync(target, drawn);
}
