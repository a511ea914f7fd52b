// @ts-check
// `npm test`: set-up, then the checks with the unit tests, then the integration and the end-to-end tests.
import { spawn } from 'node:child_process';
import { SetUpError } from './setup/command.mjs';
import { ROOT } from './setup/context.mjs';
import { STEPS, setUp } from './setup/set-up.mjs';
import { readCounts } from './test-counts.mjs';

/** The stages in order, by their npm script. */
const STAGES = ['check', 'test:integration', 'test:e2e'];

async function main() {
  const { image, seconds } = await setUp({ steps: STEPS });
  console.log(`set-up: done in ${seconds.toFixed(1)} s`);
  const env = { ...process.env, HASTEN_SANDBOX_IMAGE: process.env.HASTEN_SANDBOX_IMAGE ?? image?.tag };
  const total = { passed: 0, failed: 0, skipped: 0 };
  const bad = [];
  for (const stage of STAGES) {
    const started = performance.now();
    console.log(`\n== npm run ${stage}`);
    const { code, output } = await run(stage, env);
    const counts = readCounts(output);
    for (const kind of /** @type {const} */ (['passed', 'failed', 'skipped'])) total[kind] += counts[kind];
    console.log(`== ${stage}: exit ${code} after ${((performance.now() - started) / 1000).toFixed(0)} s`);
    // Each stage holds tests: one that ran none has lost them.
    if (code !== 0 || counts.passed === 0) bad.push(code === 0 ? `${stage} (ran no test)` : stage);
  }
  if (bad.length > 0) console.log(`\nfailed: ${bad.join(', ')}`);
  console.log(`\ntests: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.exitCode = bad.length > 0 ? 1 : 0;
}

/**
 * Runs one npm script, shows its output and keeps it.
 * @param {string} script
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ code: number, output: string }>}
 */
function run(script, env) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['run', '--silent', script], {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
      process.stdout.write(text);
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

main().catch((error) => {
  console.error(error instanceof SetUpError ? `set-up: ${error.message}` : error);
  process.exitCode = 1;
});
