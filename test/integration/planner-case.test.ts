import { afterEach, describe, expect, it } from 'vitest';
import type { RunRecord } from '../../src/domain/run.js';
import { createExecuteStation } from '../../src/planner/execute-station.js';
import { createPlanStation } from '../../src/planner/plan-station.js';
import { type CaseRepository, listCases, loadCase, materialise } from '../support/npm-case.js';
import { type StationRig, stationRig } from '../support/planner-fakes/station-rig.js';
import {
  breaksTestThenFixes,
  type ModelScript,
  rejectScript,
  scriptFromCase,
  writesBenchmark,
} from '../support/scripted-model/case-script.js';
import type { ConversationView } from '../support/scripted-model/conversation-view.js';

let rig: StationRig | undefined;
afterEach(async () => {
  await rig?.stop();
  rig = undefined;
});

/** Plays the executing script over files in memory, as the tools would. */
function play(script: ModelScript, repository: CaseRepository, attempt: number): Map<string, string> {
  const files = new Map([...repository.files].map(([path, content]) => [path, content.toString('utf8')]));
  const view: ConversationView = {
    station: 'executing',
    attempt,
    position: 0,
    results: [],
    system: '',
    task: '',
  };
  for (let position = 0; position < 40; position += 1) {
    for (const { tool, arguments: input } of script({ ...view, position }).calls) {
      const path = String(input.path);
      const before = files.get(path) ?? '';
      if (tool === 'finish_patch') return files;
      if (tool === 'write_file') files.set(path, String(input.content));
      if (tool !== 'edit_file') continue;
      const old = String(input.old);
      const at = before.indexOf(old);
      expect(at).toBeGreaterThanOrEqual(0);
      expect(before.indexOf(old, at + 1)).toBe(-1);
      files.set(path, before.slice(0, at) + String(input.new) + before.slice(at + old.length));
    }
  }
  throw new Error('the script does not end');
}

describe('scripts made from real changes', () => {
  it('turn each case into its fix, edit by edit', async () => {
    for (const subject of await listCases()) {
      const repository = await materialise(subject);
      const parts = { baseFiles: repository.files, fixFiles: repository.fixFiles };
      const played = [
        play(scriptFromCase(parts), repository, 1),
        play(breaksTestThenFixes(parts), repository, 2),
      ];
      for (const files of played) {
        for (const [path, content] of repository.fixFiles) {
          expect(files.get(path) === content.toString('utf8'), `${subject.id} ${path}`).toBe(true);
        }
      }
      const harmless = play(rejectScript(parts), repository, 1);
      const changed = [...harmless].filter(
        ([path, text]) => repository.files.get(path)?.toString('utf8') !== text,
      );
      expect(changed.map(([path]) => path)).toEqual([subject.diff_files[0]]);
    }
  }, 180_000);

  it('go through planning and executing in real containers and end with exactly the fix', async () => {
    const repository = await materialise(await loadCase('semver-773'));
    rig = await stationRig({
      docker: true,
      files: Object.fromEntries(repository.files),
      script: scriptFromCase({ baseFiles: repository.files, fixFiles: repository.fixFiles }),
      settings: { benchmark: { kind: 'module', module: repository.benchmarkPath, entry: repository.entry } },
    });
    const planned = await createPlanStation(rig.deps)(rig.effect('plan'), rig.context());
    if (planned?.type !== 'PLAN_READY') throw new Error(JSON.stringify(planned));
    expect(String(rig.model.calls()[0]?.body.messages[1]?.content)).toMatch(/ ms of CPU per operation/);
    const run: Partial<RunRecord> = { plan: planned.plan, benchmark: planned.benchmark };
    const done = await createExecuteStation(rig.deps)(rig.effect('execute', run), rig.context());
    if (done?.type !== 'PATCH_READY') throw new Error(JSON.stringify(done));
    for (const [path, content] of repository.fixFiles) {
      const made = await rig.mirror.readFile(rig.repository, done.patch.tree, path);
      expect(made?.equals(content), path).toBe(true);
    }
    expect(done.patch.files.map((file) => file.path).sort()).toEqual([...repository.fixFiles.keys()].sort());
    const spent = [...rig.money.bookings.values()];
    expect(spent.every((booking) => booking.state === 'settled' && booking.usd > 0)).toBe(true);
  }, 180_000);

  it('freeze a benchmark written in planning only after it ran on the base in a real container', async () => {
    const subject = await loadCase('semver-773');
    const repository = await materialise(subject);
    const parts = {
      baseFiles: repository.files,
      fixFiles: repository.fixFiles,
      ...(repository.heldBack === null ? {} : { heldBack: repository.heldBack }),
    };
    const flaky =
      'export const run = () => 1;\nexport const checksum = () => String(process.hrtime.bigint());\n';
    let handedOver = 0;
    const good = writesBenchmark(parts, { source: subject.bench });
    const bad = writesBenchmark(parts, { source: flaky });
    rig = await stationRig({
      docker: true,
      files: Object.fromEntries(repository.files),
      script: (view) => {
        const answer = bad(view);
        const finishes = answer.calls.some((call) => call.tool === 'finish_plan');
        handedOver += finishes ? 1 : 0;
        return finishes && handedOver > 1 ? good(view) : answer;
      },
      settings: { benchmark: null, entry: repository.entry },
    });
    const planned = await createPlanStation(rig.deps)(rig.effect('plan'), rig.context());
    if (planned?.type !== 'PLAN_READY') throw new Error(JSON.stringify(planned));
    expect(handedOver).toBe(2);
    expect(planned.benchmark).toMatchObject({
      origin: 'hasten',
      source: subject.bench,
      entry: repository.entry,
    });
    expect(JSON.stringify(rig.model.calls().at(-1)?.body.messages)).toContain('Not accepted');
  }, 180_000);
});
