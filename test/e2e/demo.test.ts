import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { loadCase, materialise } from '../support/npm-case.js';
import { scriptFromCase } from '../support/scripted-model/case-script.js';
import { type ScriptedModel, startScriptedModel } from '../support/scripted-model/scripted-model.js';
import { RUN_MS } from './support.js';

const root = join(import.meta.dirname, '../..');
let model: ScriptedModel | null = null;
afterEach(async () => {
  await model?.close();
  model = null;
});

describe('the demo', () => {
  it(
    'takes a published package to a pull request with the model of the environment, one JSON object per line',
    async () => {
      const subject = await loadCase('semver-773');
      const { files, fixFiles, heldBack } = await materialise(subject);
      model = await startScriptedModel({
        script: scriptFromCase({
          baseFiles: files,
          fixFiles,
          diffFiles: subject.diff_files,
          ...(heldBack === null ? {} : { heldBack }),
        }),
      });
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--import', 'tsx', 'demo/demo.ts', '--case', 'semver-773', '--json'],
        {
          cwd: root,
          timeout: RUN_MS,
          maxBuffer: 16 * 2 ** 20,
          env: { ...process.env, OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'of-the-environment' },
        },
      );
      const lines = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(lines[0]).toMatchObject({ type: 'intro', repository: 'acme/semver' });
      expect(lines[0]?.model).toContain('the model of your environment');
      expect(lines.at(-1)).toMatchObject({ type: 'result', ok: true, outcome: 'pull-request', pull: 2 });
      const pull = lines.find((line) => line.type === 'pull-request');
      expect(pull?.title).toMatch(/at least \d+ % less CPU time/);
      expect(pull?.diffStat).toContain('classes/semver.js');
      expect(model.calls().length).toBeGreaterThan(3);
    },
    RUN_MS,
  );
});
