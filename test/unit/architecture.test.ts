import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cruise } from 'dependency-cruiser';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import rules from '../../.dependency-cruiser.mjs';

const root = join(import.meta.dirname, '../..');
/** A tree of the same shape, so that nothing is planted among the real sources. */
const shadow = mkdtempSync(join(tmpdir(), 'hasten-floors-'));
afterAll(() => rmSync(shadow, { recursive: true }));

const outputShape = z.object({
  modules: z.array(z.object({ source: z.string() })),
  summary: z.object({
    violations: z.array(z.object({ rule: z.object({ name: z.string() }), from: z.string() })),
  }),
});

async function check(baseDir: string, paths: readonly string[]) {
  const { tsConfig: _own, ...options } = rules.options ?? {};
  const { output } = await cruise([...paths], {
    ...options,
    baseDir,
    validate: true,
    ruleSet: { forbidden: rules.forbidden ?? [] },
  });
  return outputShape.parse(typeof output === 'string' ? JSON.parse(output) : output);
}

function write(file: string, source: string): void {
  mkdirSync(dirname(join(shadow, file)), { recursive: true });
  writeFileSync(join(shadow, file), source);
}

describe('the import rule', () => {
  it('visits every source file, so that it can never be green because it saw nothing', async () => {
    const onDisk = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `src/${file}`);
    const { modules, summary } = await check(root, ['src']);
    const visited = new Set(modules.map((module) => module.source));
    expect(onDisk.filter((file) => !visited.has(file))).toEqual([]);
    expect(summary.violations).toEqual([]);
  });

  it.each([
    ['domain', "import '../store/database.js';", 'domain-imports-nothing'],
    ['machine', "import '../store/database.js';", 'floor-1-apart-machine'],
    ['ledger', "import '../publisher/marker.js';", 'ledger-alone'],
    ['planner', "import '../engine/engine.js';", 'floor-2-below-3'],
    ['engine', "import '../sandbox/names.js';", 'floor-3'],
    ['evaluator', "import 'dockerode';", 'dockerode-stays-home'],
    ['store', "import 'openai';", 'openai-stays-home'],
  ])('refuses a planted import in %s', async (folder, source, rule) => {
    for (const target of ['store/database', 'publisher/marker', 'engine/engine', 'sandbox/names']) {
      write(`src/${target}.ts`, 'export {};');
    }
    for (const name of ['dockerode', 'openai']) {
      write(`node_modules/${name}/package.json`, JSON.stringify({ name, main: 'index.js' }));
      write(`node_modules/${name}/index.js`, '');
    }
    write('package.json', JSON.stringify({ dependencies: { dockerode: '*', openai: '*' } }));
    const file = `src/${folder}/planted.ts`;
    write(file, source);
    const { summary } = await check(shadow, [file]);
    const names = summary.violations
      .filter((violation) => violation.from === file)
      .map(({ rule: { name } }) => name);
    expect(names).toContain(rule);
  });
});
