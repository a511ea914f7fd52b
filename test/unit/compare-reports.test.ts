import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Comparison, exitCodeOf } from '../../src/compare/comparison.js';
import { jsonError, jsonReport } from '../../src/compare/json-report.js';
import { markdownReport, pairsChart } from '../../src/compare/markdown-report.js';
import { createProgressLine } from '../../src/compare/progress-line.js';
import { ratioStrip } from '../../src/compare/ratio-strip.js';
import { textReport } from '../../src/compare/text-report.js';
import { verdictSentence } from '../../src/compare/verdict-sentence.js';
import { storedError, UserError } from '../../src/domain/errors.js';
import type { Measurement, WorkloadMeasurement } from '../../src/domain/evaluation.js';

function workload(overrides: Partial<WorkloadMeasurement> = {}): WorkloadMeasurement {
  return {
    name: 'run',
    verdict: 'faster',
    speedup: 2,
    interval: [1.25, 2.5],
    intervalKind: '99.5 % signed-rank interval',
    pairs: 3,
    control: { ratio: 1.01, blocks: 6, vetoed: false },
    costs: [],
    baseMs: 4,
    patchMs: 2,
    logRatios: [-Math.LN2, -0.4, 0.1],
    ...overrides,
  };
}

function comparison(overrides: Partial<Comparison> = {}, measured: Partial<Measurement> = {}): Comparison {
  return {
    verdict: 'faster',
    reason: 'Because.',
    base: { given: 'main', identity: '0123456789ab' },
    head: { given: 'HEAD', identity: 'ba9876543210' },
    benchmark: { kind: 'module', name: 'bench/a.mjs', entry: 'index.js' },
    place: 'sandbox',
    seed: 'seed',
    output: 'same',
    measurement: {
      verdict: 'faster',
      metric: 'cpu-time',
      minimumEffect: 0.05,
      workloads: [workload()],
      runs: 18,
      seconds: 12,
      seed: 'seed:measure:0',
      environment: { node: 'v20.20.2', runtime: 'runc', imageId: 'sha256:abc', cpuset: '1', load: [0.5, 1] },
      reason: 'Because.',
      ...measured,
    },
    confirmation: null,
    ...overrides,
  };
}

describe('the strip of paired ratios', () => {
  it('shows each pair once on its side of 1.0x', () => {
    const { text, low, high } = ratioStrip([-Math.log(2), -Math.log(2), Math.log(2), -0.01], 21);
    expect(text).toBe('o.........|o........2');
    expect([low, high].map((end) => end.toFixed(2))).toEqual(['0.50', '2.00']);
  });

  it('keeps 1.0x in sight of a very large effect', () => {
    expect(ratioStrip([-Math.log(380), -Math.log(400)], 40).text).toMatch(/^\.{4,5}\|\.+(oo|\.2)$/);
  });

  it('has the width asked for, counts every pair and never throws', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double(), { maxLength: 60 }),
        fc.integer({ min: -5, max: 200 }),
        (pairs, width) => {
          const { text, low, high } = ratioStrip(pairs, width);
          expect(text).toHaveLength(Math.max(8, width));
          expect(text).toMatch(/^[.o2-9+]+\|[.o2-9+]+$/);
          expect(low).toBeLessThan(1);
          expect(high).toBeGreaterThan(1);
          if (text.includes('+')) return;
          const counted = [...text].reduce((sum, sign) => sum + (sign === 'o' ? 1 : Number(sign) || 0), 0);
          expect(counted).toBe(pairs.filter(Number.isFinite).length);
        },
      ),
    );
  });
});

describe('the verdict of a comparison', () => {
  it('gives an exit code to each verdict', () => {
    expect((['faster', 'slower', 'no-change', 'inconclusive'] as const).map(exitCodeOf)).toEqual([
      0, 1, 2, 3,
    ]);
  });

  it('quotes the bound of a gain, of measurement and confirmation the lesser', () => {
    expect(verdictSentence(comparison())).toBe('Faster: at least 20 % less CPU time.');
    const confirmation = comparison({}, { workloads: [workload({ interval: [1.125, 3] })] }).measurement;
    expect(verdictSentence(comparison({ confirmation }))).toBe('Faster: at least 11 % less CPU time.');
  });

  it('quotes the bound of a loss', () => {
    const slower = workload({ verdict: 'slower', speedup: 0.5, interval: [0.4, 0.8] });
    const found = comparison(
      { verdict: 'slower' },
      { verdict: 'slower', workloads: [slower], metric: 'wall-time' },
    );
    expect(verdictSentence(found)).toBe('Slower: at least 25 % more wall time.');
  });

  it('says on how many workloads', () => {
    const workloads = [workload(), workload({ name: 'other', verdict: 'no-change' })];
    expect(verdictSentence(comparison({}, { workloads }))).toBe(
      'Faster: at least 20 % less CPU time on 1 of 2 workloads.',
    );
  });

  it('gives the reason where there is nothing to quote', () => {
    expect(verdictSentence(comparison({ verdict: 'no-change' }))).toBe('No change. Because.');
    expect(verdictSentence(comparison({ verdict: 'inconclusive' }))).toBe('Inconclusive. Because.');
    expect(verdictSentence(comparison({}, { workloads: [workload({ interval: null })] }))).toBe(
      'Faster. Because.',
    );
  });
});

describe('the reports of a comparison', () => {
  const worse = workload({
    costs: [
      { cost: 'peak-memory', ratio: 1.5, base: 40, patch: 60, worse: true },
      { cost: 'import-time', ratio: 1.01, base: 3, patch: 3.03, worse: false },
    ],
  });

  it('lines up a table, a strip and the verdict as text', () => {
    const text = textReport(comparison({}, { workloads: [worse, workload({ name: 'a longer name' })] }));
    const lines = text.split('\n');
    const [heading, ...rows] = lines.slice(lines.findIndex((line) => line.startsWith('Workload')));
    expect(heading).toMatch(/^Workload +Verdict +Speed-up +Interval +Pairs +Base +Head +Control$/);
    expect(rows[0]).toHaveLength(heading?.length ?? 0);
    expect(rows[1]).toHaveLength(heading?.length ?? 0);
    expect(text).toContain('main (0123456789ab)');
    expect(text).toContain('run: peak memory 40 MiB to 60 MiB (worse)');
    expect(text).not.toContain('import 3.00');
    expect(text).toMatch(/run +0\.\d+x {2}[.o2-9]+\|[.o2-9]+ {2}2\.00x/);
  });

  it('does not let the name of a workload steer the terminal', () => {
    const hostile = workload({ name: 'a\u001b[2Jb\nc' });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: looks for one
    expect(textReport(comparison({}, { workloads: [hostile] }))).not.toMatch(/\u001b/);
    expect(textReport(comparison({}, { workloads: [hostile] }))).toContain('a [2Jb c');
  });

  it('writes Markdown with a table and a chart of the pairs', () => {
    const markdown = markdownReport(comparison({ output: 'different' }, { workloads: [worse] }));
    expect(markdown).toContain('| `run` | faster | 2.00x | 1.25x to 2.50x | 3 | 4.00 ms | 2.00 ms | 1.01x |');
    expect(markdown).toContain('**The output of head differs from that of base.**');
    expect(markdown.match(/```/g)).toHaveLength(2);
    expect(pairsChart(worse).split('\n')).toEqual([
      '```mermaid',
      'xychart-beta',
      '    title "run: speed-up of each pair, the line is 1.0x"',
      '    x-axis "pair" [1, 2, 3]',
      '    y-axis "base time / head time" 0 --> 2.200',
      '    bar [2.000, 1.492, 0.905]',
      '    line [1, 1, 1]',
      '```',
    ]);
  });

  it('keeps a workload’s name from breaking out of the chart', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        const lines = pairsChart(workload({ name })).split('\n');
        expect(lines).toHaveLength(8);
        expect(lines[2]).toMatch(/^ {4}title "[^"`\\]*"$/);
      }),
    );
  });

  it('is one JSON object with head where the gate says patch', () => {
    const parsed: unknown = JSON.parse(jsonReport(comparison({}, { workloads: [worse] })));
    expect(parsed).toMatchObject({
      verdict: 'faster',
      exitCode: 0,
      sentence: 'Faster: at least 20 % less CPU time.',
      base: { given: 'main', identity: '0123456789ab' },
      seed: 'seed',
      output: 'same',
      workloads: [
        { name: 'run', baseMs: 4, headMs: 2, interval: [1.25, 2.5], costs: [{ base: 40, head: 60 }, {}] },
      ],
      confirmation: null,
    });
    expect(JSON.stringify(parsed)).not.toContain('patch');
  });

  it('puts an error into JSON too', () => {
    const error = new UserError({ code: 'NO_BENCHMARK', message: 'Pass --bench.' });
    expect(JSON.parse(jsonError(storedError(error), null))).toEqual({
      verdict: null,
      exitCode: 4,
      error: { code: 'NO_BENCHMARK', fault: 'user', message: 'Pass --bench.', evidence: null },
    });
  });
});

describe('progress', () => {
  function written(isTTY: boolean): string {
    let text = '';
    const stream = { isTTY, columns: 20, write: (more: string) => (text += more) };
    const progress = createProgressLine(stream);
    progress.note('careful');
    progress.show('one');
    progress.show('one');
    progress.show('two is longer than the line is wide');
    progress.clear();
    return text;
  }

  it('rewrites one line on a terminal, never wider than it, and clears it', () => {
    const erase = '\r\u001b[2K';
    expect(written(true)).toBe(`${erase}careful\n${erase}one${erase}two is longer than ${erase}`);
  });

  it('writes plain lines elsewhere, each once', () => {
    expect(written(false)).toBe('careful\none\ntwo is longer than the line is wide\n');
  });
});
