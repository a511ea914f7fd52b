import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunRecord } from '../../src/domain/run.js';
import { approvalText } from '../../src/publisher/approval-text.js';
import { claim, claimSentence, measurementNotes, measurementTable } from '../../src/publisher/evidence.js';
import { assemble, carriesMarker, markerOf, statusKey } from '../../src/publisher/marker.js';
import { requirePassed } from '../../src/publisher/passed-run.js';
import {
  commitMessage,
  draftReasons,
  hasRunTrailer,
  pullRequestBody,
  pullRequestTitle,
} from '../../src/publisher/pull-request-text.js';
import { renderReport, reportText } from '../../src/publisher/report-text.js';
import { statusText } from '../../src/publisher/status-text.js';
import {
  SAMPLE_RUN_ID,
  sampleMeasurement,
  samplePassedRun,
  sampleWorkload,
  sha256,
} from '../support/passed-run-sample.js';
import { sampleFailed, sampleTrigger } from '../support/run-samples.js';

const HOSTILE =
  'Make it fast @acme/admins\n\nFixes #12 <!-- hasten:abc123def456:status -->\n```\n</details>\n- [x](https://evil.example) GH-3';

function attempts(count: number): RunRecord['attempts'] {
  return Array.from({ length: count }, (_, index) => ({
    number: index + 1,
    planHash: 'p',
    errorSignature: 'e',
    summary: `tests: ${index + 1} tests failed`,
    evidence: '',
    plan: null,
    diff: null,
  }));
}

/** The sample with every text that others write replaced by `text`. */
function hostileRun(text: string): RunRecord {
  const run = samplePassedRun();
  const { patch, benchmark, evaluation, plan } = run;
  if (patch === null || benchmark === null || evaluation === null || plan === null) throw new Error('sample');
  const diff = `--- a/x\n+++ b/x\n+${text}`;
  const hostileBenchmark = { ...benchmark, path: text, entry: text, source: text, sha256: sha256(text) };
  const measurement = sampleMeasurement({
    workloads: [sampleWorkload({ name: text })],
    seed: text,
    reason: text,
  });
  return {
    ...run,
    trigger: sampleTrigger({ title: text, body: text, actor: text, hint: text }),
    plan: { ...plan, title: text, hypothesis: text, risk: text, files: [text], steps: [text] },
    patch: {
      ...patch,
      diff,
      digest: sha256(diff),
      summary: text,
      files: [{ path: text, additions: 1, deletions: 0 }],
    },
    benchmark: hostileBenchmark,
    evaluation: {
      ...evaluation,
      patchDigest: sha256(diff),
      benchmarkSha256: hostileBenchmark.sha256,
      steps: [{ step: 'tests', ok: true, seconds: 1, summary: text }],
      measurement,
      confirmation: measurement,
      draftReasons: [text],
      reproduce: [text],
    },
    attempts: attempts(1).map((attempt) => ({ ...attempt, summary: text, evidence: text })),
    pause: { reason: 'approval', from: 'submitting', since: 0, expiresAt: 1, detail: text, rev: 3 },
    outcome: 'failed',
    outcomeReason: text,
  };
}

/** Every Markdown text of the publisher for a run. */
function allTexts(run: RunRecord): readonly string[] {
  const passed = requirePassed(run, 1);
  return [
    statusText({ run, state: 'paused', spentUsd: 1, at: run.startedAt }),
    approvalText({ run, spentUsd: 1, key: 'abc123def456:4:0:ask-approval' }) ?? '',
    pullRequestBody(passed, 'abc123def456:5:0:submit'),
    reportText({ run, spentUsd: 1, at: run.startedAt }),
  ];
}

/** What GitHub would read as text: without fenced blocks and code spans. */
function prose(markdown: string): string {
  return markdown
    .replace(/^(`{3,})[a-z]*\n[\s\S]*?\n\1$/gm, '')
    .replace(/(`+)(?!`)[^\n]*?[^`\n]\1(?!`)/g, '')
    .replace(/<code>[^<]*<\/code>/g, '');
}

describe('hostile words in every text', () => {
  it('cannot mention, close, link, open HTML or pass for a marker', () => {
    const word = fc.constantFrom(
      '@acme',
      'Fixes #12',
      '<!-- hasten:abc123def456:status -->',
      '```',
      '\n',
      '`',
      '|',
      '</details>',
      'https://evil.example',
      '<b>',
      'GH-3',
      ' ',
      'x',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.constant(HOSTILE),
          fc.array(word, { maxLength: 12 }).map((words) => words.join('')),
        ),
        (text) => {
          const run = hostileRun(text);
          for (const body of allTexts(run)) {
            expect(body.match(/<!--/g)).toHaveLength(1 + (body.match(/<!--(?! hasten:)/g) ?? []).length);
            expect(body.match(/<!-- hasten:/g)).toHaveLength(1);
            const shown = prose(body);
            expect(shown).not.toMatch(/@[A-Za-z0-9]/);
            expect(shown).not.toMatch(/(?:clos|fix|resolv)\w*:?\s+(?:\S+)?#\d/i);
            expect(shown).not.toMatch(/:\/\//);
            const tags = shown.match(/<[^>\n]*>?/g) ?? [];
            for (const tag of tags)
              expect(tag).toMatch(/^<(?:\/?details|\/?summary|!-- hasten:[\w:.-]+ --)>$/);
            expect((shown.match(/<details>/g) ?? []).length).toBe((shown.match(/<\/details>/g) ?? []).length);
          }
          const title = pullRequestTitle(requirePassed(run, 1));
          expect(title).not.toMatch(/[\n@](?=[A-Za-z])|#\d|:\/\//);
          const message = commitMessage(requirePassed(run, 1));
          expect(message.split('\n').filter((line) => line.startsWith('Hasten-Run:'))).toEqual([
            `Hasten-Run: ${SAMPLE_RUN_ID}`,
          ]);
          expect(message).not.toMatch(/@[A-Za-z]|#\d/);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('cannot make a body longer than GitHub takes', () => {
    for (const body of allTexts(hostileRun('<|@#`\n'.repeat(20_000)))) {
      expect(body.length).toBeLessThanOrEqual(65_536);
      expect(body).toMatch(/<!-- hasten:[\w:.-]+ -->$/);
    }
  });
});

describe('the claim', () => {
  it('quotes the lower bound, the smaller one of measurement and confirmation, rounded down', () => {
    const measurement = sampleMeasurement({ workloads: [sampleWorkload({ interval: [3.057, 5.52] })] });
    expect(claim(measurement, null)).toBe('at least 67 % less CPU time');
    const confirmation = sampleMeasurement({ workloads: [sampleWorkload({ interval: [2, 9] })] });
    expect(claim(measurement, confirmation)).toBe('at least 50 % less CPU time');
    const small = sampleMeasurement({ workloads: [sampleWorkload({ interval: [1.0599, 1.2] })] });
    expect(claim(small, null)).toBe('at least 5.6 % less CPU time');
  });

  it('takes the least of the faster workloads and names them', () => {
    const measurement = sampleMeasurement({
      workloads: [
        sampleWorkload({ name: 'parse', interval: [4, 5] }),
        sampleWorkload({ name: 'print', interval: [1.25, 2] }),
        sampleWorkload({ name: 'other', verdict: 'no-change', interval: [0.99, 1.01] }),
      ],
    });
    expect(claimSentence(measurement, null)).toBe(
      '**At least 20 % less CPU time** on 2 of 3 workloads (`parse`, `print`) (lower bound of the interval).',
    );
  });

  it('names the metric that was measured, and what else changed beside it', () => {
    const costs = [
      { cost: 'import-time', ratio: 1.02, base: 3, patch: 3.06, worse: false },
      { cost: 'peak-memory', ratio: 1.1, base: 50, patch: 55, worse: false },
    ] as const;
    const measurement = sampleMeasurement({ metric: 'wall-time', workloads: [sampleWorkload({ costs })] });
    expect(claim(measurement, null)).toBe('at least 67 % less wall time');
    const notes = measurementNotes(measurement);
    expect(notes).toContain('- Wall time per operation (median)');
    expect(notes).toContain('on `run`: time to import 3.00 ms → 3.06 ms, peak memory 50 MiB → 55 MiB.');
  });

  it('claims nothing without an interval', () => {
    const measurement = sampleMeasurement({ workloads: [sampleWorkload({ interval: null })] });
    expect(claim(measurement, null)).toBeNull();
    expect(claimSentence(measurement, null)).toContain('no lower bound');
  });

  it('never claims more than the lower bound holds', () => {
    fc.assert(
      fc.property(fc.double({ min: 1.001, max: 1000, noNaN: true }), (bound) => {
        const measurement = sampleMeasurement({
          workloads: [sampleWorkload({ interval: [bound, bound * 2] })],
        });
        const text = claim(measurement, null) ?? '';
        const percent = Number(/least ([\d.]+) %/.exec(text)?.[1]);
        expect(percent / 100).toBeLessThanOrEqual(1 - 1 / bound + 1e-9);
      }),
    );
  });

  it('bounds the rows of its table', () => {
    const workloads = Array.from({ length: 100 }, (_, index) => sampleWorkload({ name: `w${index}` }));
    expect(measurementTable(sampleMeasurement({ workloads }))).toContain('80 more workloads are not shown.');
  });
});

describe('the pull request', () => {
  const passed = requirePassed(samplePassedRun(), 0.0123);

  it('has a title with the lower bound', () => {
    expect(pullRequestTitle(passed)).toBe('Compare numbers as numbers (at least 60 % less CPU time)');
  });

  it('has a commit message that is found again by its trailer', () => {
    const text = commitMessage(passed);
    expect(text).toMatchInlineSnapshot(`
      "Compare numbers as numbers

      Measured for issue 12: at least 60 % less CPU time than bbbbbbbbbbbb,
      with the checks of the repository passing and the same output on its benchmark.

      Hasten-Run: abc123def456"
    `);
    expect(hasRunTrailer(text, SAMPLE_RUN_ID)).toBe(true);
    expect(hasRunTrailer(`${text}\n`, SAMPLE_RUN_ID)).toBe(true);
    expect(hasRunTrailer(`Hasten-Run: ${SAMPLE_RUN_ID}\n\nx`, SAMPLE_RUN_ID)).toBe(false);
    expect(hasRunTrailer(text, 'abc123def457')).toBe(false);
  });

  it('has a body with the evidence', () => {
    expect(pullRequestBody(passed, 'abc123def456:9:0:submit')).toMatchInlineSnapshot(`
      "**At least 60 % less CPU time** on the benchmark (lower bound of the interval).

      For #12. Hasten (run \`abc123def456\`) made this patch on \`bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\` and its gate passed it. Whether it closes the issue is for a maintainer to say, so nothing here closes it.

      ### What and why

      The model's words, a claim and not evidence:

      > Compares numbers directly.
      >
      > Hypothesis: The comparison parses its operands again.
      >
      > Risk: low

      ### Evidence

      | Workload | Base | Patch | Speed-up | Interval | Pairs | A/A control | Verdict |
      | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |
      | \`run\` | 0.230 ms | 0.0448 ms | 5.09x | 3.06x to 5.52x | 6 | 1.01x | faster |

      - CPU time per operation (median); speed-up is base time divided by patch time, above 1 is faster. Interval: range of the paired ratios.
      - 18 fresh processes in 9 s, base, patch and an identical copy of the base (A/A control) interleaved in random order, seed \`seed\`.
      - Smallest gain that counts: 5 %.
      - Node v20.20.2, runtime \`runc\`, CPUs \`1\`, image \`sha256:1\`, load 0.50 before and 0.60 after.
      - Benchmark: this repository's own \`bench/sort.mjs\`, as of the base commit; it loads \`index.js\`; sha256 \`7fc551548a5a9e1dc421705db5d720a8cf561f0f3ac5ec6940c4d60c83e5689d\`.
      - Held-back workload: none was measured.

      ### Confirmation

      Measured once more in fresh containers (18 processes, 9 s), verdict **faster**:

      | Workload | Base | Patch | Speed-up | Interval | Pairs | A/A control | Verdict |
      | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |
      | \`run\` | 0.230 ms | 0.0448 ms | 5.09x | 2.50x to 5.10x | 6 | 1.01x | faster |

      ### Checks

      | Check | Result | Took | |
      | --- | --- | ---: | --- |
      | Patch policy | passed | 0 s | 1 file, 4 lines |
      | Tests | passed | 3 s | 14 tests green on base and patch |

      ### See for yourself

      \`\`\`sh
      git fetch origin hasten/abc123def456
      npm ci && npm test
      \`\`\`

      <details><summary>Settings of this run</summary>

      \`\`\`text
      from: .github/hasten.yml at the base commit
      install: npm (frozen lockfile)
      build: none
      test: npm test
      types: none
      lint: none
      format: none
      benchmark: bench/sort.mjs on index.js
      allow: nothing beyond the default policy
      attempts: 3
      minimumEffect: 0.05
      memoryGrowth: 0.2
      approval: auto
      budget: $5.00
      timeouts (s): install 1, build 1, test 1, measure 1
      memory: 1024 MiB
      \`\`\`

      </details>

      Model cost of the run: $0.0123. Asked by maintainer.

      <!-- hasten:abc123def456:9:0:submit -->"
    `);
  });

  it('is a draft when the evaluation, the settings or the benchmark say so, and says why', () => {
    expect(draftReasons(passed)).toEqual([]);
    const asked = { ...passed, settings: { ...passed.settings, approval: 'draft' as const } };
    expect(draftReasons(asked)).toEqual(['The settings ask for drafts.']);
    const own = { ...passed, benchmark: { ...passed.benchmark, origin: 'hasten' as const } };
    expect(draftReasons(own)).toHaveLength(1);
    expect(pullRequestBody(own, 'k')).toContain('**This is a draft**');
    expect(pullRequestBody(own, 'k')).toContain('written by Hasten');
  });
});

describe('comments', () => {
  it('tell where the run stands', () => {
    const run = samplePassedRun({ attempt: 2, attempts: attempts(1), evaluation: null });
    expect(
      statusText({ run, state: 'executing', spentUsd: 0.42, at: run.startedAt + 125_000 }),
    ).toMatchInlineSnapshot(`
      "**Hasten is on it** (run \`abc123def456\`): **executing**

      Changing the code in a sandbox and building it.

      | | |
      | --- | --- |
      | State | executing |
      | Attempt | 2 of 3 |
      | Spent on the model | $0.42 of $5.00 |
      | Base commit | \`bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\` |
      | Asked by | maintainer |
      | Started | 2026-11-30 12:00 UTC, 2 min 5 s ago when this was written |

      **Plan** (the model's words): Compare numbers as numbers

      **What failed so far**

      - Attempt 1: tests: 1 tests failed

      Answer with \`/hasten status\` or \`/hasten cancel\`. This comment is edited as the run goes on.

      <!-- hasten:abc123def456:status -->"
    `);
  });

  it('ask before the push, with the diff and until when', () => {
    const run = samplePassedRun({
      pause: {
        reason: 'approval',
        from: 'submitting',
        since: 0,
        expiresAt: Date.UTC(2026, 11, 7, 12),
        detail: 'Text by somebody without write permission reached the model.',
        rev: 9,
      },
    });
    expect(
      approvalText({ run, spentUsd: 0.42, key: 'abc123def456:9:0:ask-approval' }),
    ).toMatchInlineSnapshot(`
      "**Hasten has a verified patch and asks before it pushes** (run \`abc123def456\`)

      Text by somebody without write permission reached the model.

      **Approving** pushes exactly the diff below to \`hasten/abc123def456\` and opens a pull request. The push starts this repository's own checks with whatever secrets they have. It costs nothing more ($0.42 were spent so far). **Rejecting** ends the run; nothing is pushed.

      **At least 60 % less CPU time** on the benchmark (lower bound of the interval).

      | Workload | Base | Patch | Speed-up | Interval | Pairs | A/A control | Verdict |
      | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |
      | \`run\` | 0.230 ms | 0.0448 ms | 5.09x | 3.06x to 5.52x | 6 | 1.01x | faster |

      Changed: \`index.js\` (+3 −1)

      What the model says about it (its claim, not evidence):

      > Compares numbers directly.

      <details><summary>The diff</summary>

      \`\`\`diff
      diff --git a/index.js b/index.js
      \`\`\`

      </details>

      sha256 of the whole diff: \`2b7092f02842402cbcab5b743650ca6ceb8a5f74122ff44268deaf96226fb491\`

      Until **2026-12-07 12:00 UTC** a person with write permission can answer here with one of

      - \`/hasten approve\` (words after it are passed on as a hint)
      - \`/hasten reject\` (words after it are kept as the reason)

      Without an answer the run ends then, or a day after another request waits in this repository. An answer counts for this question only.

      <!-- hasten:abc123def456:9:0:ask-approval -->"
    `);
  });

  it.each([
    ['budget', 'spend up to $5.00 more'],
    ['cycle', 'one more attempt'],
  ] as const)('say what approving a pause for %s costs', (reason, words) => {
    const run = samplePassedRun({
      pause: { reason, from: 'recovering', since: 0, expiresAt: 0, detail: 'It stopped.', rev: 9 },
      attempts: attempts(5),
    });
    const text = approvalText({ run, spentUsd: 1.5, key: 'k' }) ?? '';
    expect(text).toContain(words);
    expect(text).toContain('$1.50 were spent so far');
    expect(text).toContain('… and 2 before that');
    expect(text).not.toContain('```diff');
  });

  it('ask nothing when the run does not wait', () => {
    expect(approvalText({ run: samplePassedRun(), spentUsd: 0, key: 'k' })).toBeNull();
  });
});

describe('reports', () => {
  const at = samplePassedRun().startedAt + 240_000;

  it('link the pull request with its numbers', () => {
    const run = samplePassedRun({
      outcome: 'pull-request',
      submission: {
        branch: 'hasten/abc123def456',
        commit: 'f'.repeat(40),
        pullNumber: 13,
        url: 'u',
        draft: false,
      },
    });
    expect(reportText({ run, spentUsd: 0.42, at })).toMatchInlineSnapshot(`
      "**Hasten opened a pull request** (run \`abc123def456\`)

      The patch was built, tested and measured: #13.

      **At least 60 % less CPU time** on the benchmark (lower bound of the interval).

      | Workload | Base | Patch | Speed-up | Interval | Pairs | A/A control | Verdict |
      | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |
      | \`run\` | 0.230 ms | 0.0448 ms | 5.09x | 3.06x to 5.52x | 6 | 1.01x | faster |

      - CPU time per operation (median); speed-up is base time divided by patch time, above 1 is faster. Interval: range of the paired ratios.
      - 18 fresh processes in 9 s, base, patch and an identical copy of the base (A/A control) interleaved in random order, seed \`seed\`.
      - Smallest gain that counts: 5 %.
      - Node v20.20.2, runtime \`runc\`, CPUs \`1\`, image \`sha256:1\`, load 0.50 before and 0.60 after.

      Review it as any other; a closed pull request is not offered again.

      1 attempt, 4 min 0 s, $0.42 for the model.

      <!-- hasten:abc123def456:status -->"
    `);
  });

  it('give the verdict of a patch that is not faster', () => {
    const measurement = sampleMeasurement({
      verdict: 'no-change',
      reason: 'The interval lies inside the smallest gain that counts.',
      workloads: [
        sampleWorkload({ verdict: 'no-change', speedup: 1.002, interval: [0.99, 1.01], pairs: 20 }),
      ],
    });
    const run = samplePassedRun({
      evaluation: null,
      outcome: 'failed',
      outcomeReason: 'All 2 attempts failed. Last: measurement: no change',
      attempts: attempts(2),
      lastFailure: sampleFailed({ failedStep: 'measurement', measurement }),
    });
    expect(reportText({ run, spentUsd: 0.42, at })).toMatchInlineSnapshot(`
      "**Hasten did not manage it** (run \`abc123def456\`)

      All 2 attempts failed. Last: measurement: no change

      The last patch was measured: **no-change**. The interval lies inside the smallest gain that counts.

      | Workload | Base | Patch | Speed-up | Interval | Pairs | A/A control | Verdict |
      | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |
      | \`run\` | 0.230 ms | 0.0448 ms | 1.00x | 0.990x to 1.01x | 20 | 1.01x | no-change |

      - CPU time per operation (median); speed-up is base time divided by patch time, above 1 is faster. Interval: range of the paired ratios.
      - 18 fresh processes in 9 s, base, patch and an identical copy of the base (A/A control) interleaved in random order, seed \`seed\`.
      - Smallest gain that counts: 5 %.
      - Node v20.20.2, runtime \`runc\`, CPUs \`1\`, image \`sha256:1\`, load 0.50 before and 0.60 after.

      **What failed so far**

      - Attempt 2: tests: 2 tests failed
      - Attempt 1: tests: 1 tests failed

      No pull request was opened. \`/hasten run <hint>\` starts again, with a hint where you know more.

      2 attempts, 4 min 0 s, $0.42 for the model.

      <!-- hasten:abc123def456:status -->"
    `);
  });

  it('show what a person has to put right', () => {
    const run = samplePassedRun({
      evaluation: null,
      patch: null,
      plan: null,
      benchmark: null,
      settings: null,
      outcome: 'failed',
      outcomeReason: 'Nothing to measure.\nFor example:\n\n    test: npm test',
      lastFailure: { code: 'NOTHING_TO_MEASURE', fault: 'user', retryable: false, message: 'x' },
    });
    const text = reportText({ run, spentUsd: 0, at });
    expect(text).toContain('```text\nNothing to measure.');
    expect(text).toContain('Once that is put right on the default branch');
  });

  it.each([
    ['nothing-to-gain', 'found nothing to gain'],
    ['rejected', 'was rejected'],
    ['expired', 'nobody answered'],
    ['cancelled', 'was cancelled'],
  ] as const)('say in a sentence that the outcome is %s', (outcome, words) => {
    const run = samplePassedRun({ evaluation: null, outcome, outcomeReason: 'Because.' });
    const text = reportText({ run, spentUsd: 0, at });
    expect(text).toContain(words);
    expect(text).toContain('Because.');
  });

  it('stand alone for local use, with the diff', () => {
    const run = samplePassedRun({
      outcome: 'pull-request',
      submission: {
        branch: 'hasten/abc123def456',
        commit: 'f'.repeat(40),
        pullNumber: null,
        url: null,
        draft: false,
      },
    });
    const text = renderReport({ run, spentUsd: 0, at });
    expect(text).toContain('# Sorting is slow');
    expect(text).toContain('Branch `hasten/abc123def456`');
    expect(text).toContain('```diff\ndiff --git a/index.js b/index.js\n```');
    expect(text).not.toContain('<!--');
  });
});

describe('markers', () => {
  it('count only at the end of a text', () => {
    const marker = markerOf(statusKey('abc'));
    expect(marker).toBe('<!-- hasten:abc:status -->');
    expect(carriesMarker(`text\n\n${marker}\n`, marker)).toBe(true);
    expect(carriesMarker(`${marker}\n> quoted above`, marker)).toBe(false);
    expect(carriesMarker(null, marker)).toBe(false);
  });

  it('cannot be ended early by a key', () => {
    fc.assert(
      fc.property(fc.string(), (key) => {
        expect(markerOf(key).match(/-->/g)).toHaveLength(1);
        expect(markerOf(key)).toMatch(/^<!-- hasten:[A-Za-z0-9:_.-]* -->$/);
      }),
    );
  });

  it('stay when sections are too long', () => {
    const text = assemble(['a', 'b'.repeat(70_000), null, 'c'], 'k');
    expect(text).toBe('a\n\nc\n\n_1 section left out for length._\n\n<!-- hasten:k -->');
  });
});
