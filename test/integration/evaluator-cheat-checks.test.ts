import { describe, expect, it } from 'vitest';
import { findCheats } from '../../src/evaluator/cheat-checks/find-cheats.js';
import { listCases, materialise } from '../support/npm-case.js';

const cases = await listCases();

describe('a published performance change', () => {
  it.each(cases)('is not taken for a cheat: $id', async (subject) => {
    const { files, fixFiles, benchmarkPath } = await materialise(subject);
    const changes = [...fixFiles].map(([path, after]) => ({
      path,
      before: files.get(path)?.toString('utf8') ?? null,
      after: after.toString('utf8'),
    }));
    const benchmarks = [{ path: benchmarkPath, source: subject.bench }];
    expect(changes.length).toBeGreaterThan(0);
    expect(findCheats(changes, { benchmarks })).toEqual([]);
  });
});
