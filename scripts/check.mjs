// @ts-check
// `npm run check`: everything that needs no Docker, two lanes side by side. All of it runs even when one part fails,
// so that one call shows all there is to mend.
import { spawn } from 'node:child_process';
import { ROOT } from './setup/context.mjs';

const LANES = [
  ['check:types', 'check:style', 'check:floors', 'check:unused', 'check:picture'],
  ['test:unit'],
];

const started = performance.now();
const failed = (await Promise.all(LANES.map(runLane))).flat();
const seconds = ((performance.now() - started) / 1000).toFixed(0);
console.log(
  failed.length === 0
    ? `check: all good after ${seconds} s`
    : `check: failed after ${seconds} s: ${failed.join(', ')}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;

/**
 * Runs the scripts of a lane one after another.
 * @param {readonly string[]} scripts
 * @returns {Promise<string[]>} those that failed
 */
async function runLane(scripts) {
  const bad = [];
  for (const script of scripts) {
    const { code, output } = await runScript(script);
    process.stdout.write(`\n== ${script}: ${code === 0 ? 'good' : `exit ${code}`}\n${output}`);
    if (code !== 0) bad.push(script);
  }
  return bad;
}

/**
 * @param {string} script of package.json
 * @returns {Promise<{ code: number, output: string }>}
 */
function runScript(script) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['run', '--silent', script], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
