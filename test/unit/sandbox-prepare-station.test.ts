import { describe, expect, it } from 'vitest';
import type { Effect, StationContext } from '../../src/domain/effect.js';
import { UserError } from '../../src/domain/errors.js';
import type { SourceMirror } from '../../src/domain/repository.js';
import type { Sandbox, WorkspaceSpec } from '../../src/domain/sandbox.js';
import { createPrepareStation, type SettingsSource } from '../../src/sandbox/prepare-station.js';
import { BASE_COMMIT, sampleRepository, sampleSettings, sampleTrigger } from '../support/run-samples.js';

const FILES: Record<string, string> = { '.github/hasten.yml': 'test: npm test\n', 'index.js': '1\n' };
const NEVER = () => {
  throw new Error('not expected to be called');
};

/** A mirror that has its files only after the fetch, and a sandbox that notes what it is asked for. */
function createFakes() {
  const calls: string[] = [];
  let fetched = false;
  const read = async (path: string) => {
    if (!fetched) throw new Error('read before fetch');
    const content = FILES[path];
    return content === undefined ? null : Buffer.from(content);
  };
  const mirror: SourceMirror = {
    fetch: async (_, commit) => {
      calls.push(`fetch ${commit}`);
      fetched = true;
    },
    readFile: (_, __, path) => read(path),
    listFiles: async () =>
      Object.entries(FILES).map(([path, text]) => ({ path, mode: '100644', sha: 'a', size: text.length })),
    applyPatch: NEVER,
    archive: NEVER,
    writeBranch: NEVER,
  };
  const prepared: WorkspaceSpec[] = [];
  const sandbox: Sandbox = {
    check: NEVER,
    prepare: async (spec) => {
      prepared.push(spec);
      return { run: spec.run, name: spec.name, ref: 'v', dependenciesCached: false };
    },
    run: NEVER,
    openArm: NEVER,
    measurementCpuset: () => '0',
    discard: NEVER,
    reap: NEVER,
  };
  return { calls, prepared, mirror, sandbox };
}

function effect(): Effect<'prepare'> {
  const run: Effect<'prepare'>['payload']['run'] = {
    id: 'run1',
    trigger: sampleTrigger(),
    startedAt: 0,
    issueNumber: 12,
    settings: null,
    plan: null,
    benchmark: null,
    profile: [],
    patch: null,
    evaluation: null,
    lastFailure: null,
    attempt: 1,
    attempts: [],
    pause: null,
    cycleFrom: 0,
    extraAttempts: 0,
    grantedUsd: 0,
    hints: [],
    approvedBy: null,
    submission: null,
    outcome: null,
    outcomeReason: null,
  };
  const payload = { run, state: 'planning' } as const;
  return { key: 'k', kind: 'prepare', repository: sampleRepository(), payload, createdAt: 0, attempt: 1 };
}

function context(): StationContext & { readonly lines: string[] } {
  const lines: string[] = [];
  return {
    signal: new AbortController().signal,
    now: () => 0,
    progress: (line) => void lines.push(line),
    lines,
  };
}

describe('the prepare station', () => {
  it('fetches the base commit, reads the settings at it, installs, and answers with them', async () => {
    const fakes = createFakes();
    const sources: SettingsSource[] = [];
    const station = createPrepareStation({
      ...fakes,
      readSettings: async (source) => {
        sources.push(source);
        return sampleSettings();
      },
    });
    const at = context();
    expect(await station(effect(), at)).toEqual({ type: 'PREPARED', settings: sampleSettings() });
    expect(fakes.calls).toEqual([`fetch ${BASE_COMMIT}`]);
    expect(sources[0]?.file?.toString()).toBe('test: npm test\n');
    expect((await sources[0]?.read('index.js'))?.toString()).toBe('1\n');
    expect(await sources[0]?.read('missing')).toBeNull();
    expect(fakes.prepared).toMatchObject([
      {
        run: 'run1',
        name: 'plan',
        git: true,
        baseCommit: BASE_COMMIT,
        tree: null,
        install: { packageManager: 'npm' },
      },
    ]);
    expect(at.lines).toHaveLength(3);
  });

  it('installs nothing when the settings say what is missing', async () => {
    const fakes = createFakes();
    const readSettings = async () => {
      throw new UserError({
        code: 'NOTHING_TO_MEASURE',
        message: 'set `test` and `benchmark` in .github/hasten.yml',
      });
    };
    const station = createPrepareStation({ ...fakes, readSettings });
    await expect(station(effect(), context())).rejects.toMatchObject({
      code: 'NOTHING_TO_MEASURE',
      fault: 'user',
    });
    expect(fakes.prepared).toEqual([]);
  });
});
