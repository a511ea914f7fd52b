import { describe, expect, it } from 'vitest';
import { parseCompareArguments } from '../../src/compare/compare-arguments.js';
import { parsePackageSpec } from '../../src/compare/npm-package.js';

const parse = (...argv: string[]) => parseCompareArguments(argv);

describe('the arguments of hasten compare', () => {
  it('takes two subjects and leaves everything else to the settings', () => {
    expect(parse('main', 'HEAD')).toEqual({
      base: 'main',
      head: 'HEAD',
      repo: '.',
      measured: { kind: 'configured' },
      entry: null,
      host: false,
      confirm: false,
      allowDifferentOutput: false,
      minimumEffect: null,
      timeoutMs: null,
      seed: null,
      output: 'text',
    });
  });

  it('takes options before, between and behind the subjects', () => {
    expect(parse('--bench', 'b.mjs', 'x', '--host', 'y', '--json', '--timeout', '30')).toMatchObject({
      base: 'x',
      head: 'y',
      measured: { kind: 'bench', file: 'b.mjs' },
      host: true,
      output: 'json',
      timeoutMs: 30_000,
    });
  });

  it('takes a command, with or without the report of its tool', () => {
    expect(parse('a', 'b', '--command', 'make bench')).toMatchObject({
      measured: { kind: 'command', command: 'make bench' },
    });
    const report = ['--command', 'go test -bench .', '--report', 'go-bench', '--report-file', 'out.txt'];
    expect(parse('a', 'b', ...report)).toMatchObject({
      measured: { kind: 'report', command: 'go test -bench .', format: 'go-bench', file: 'out.txt' },
    });
  });

  it.each([
    ['3%', 0.03],
    ['2.5 %', 0.025],
    ['0.1', 0.1],
  ])('reads a minimum effect of %s', (text, share) => {
    expect(parse('a', 'b', '--minimum-effect', text)).toMatchObject({ minimumEffect: share });
  });

  it('answers help wherever it is asked for', () => {
    expect(parse('--help')).toBe('help');
    expect(parse('a', 'b', '-h')).toBe('help');
  });

  it.each([
    [['a'], /expected two subjects.*got 1/],
    [['a', 'b', 'c'], /expected two subjects.*got 3/],
    [['a', ''], /must not be empty/],
    [['a', 'b', '--fast'], /Unknown option '--fast'/],
    [['a', 'b', '--bench'], /--bench/],
    [['a', 'b', '--bench', 'x.mjs', '--command', 'y'], /--bench excludes --command/],
    [['a', 'b', '--bench', ' '], /--bench must not be empty/],
    [['a', 'b', '--report', 'jmh'], /--report needs --command/],
    [['a', 'b', '--command', 'x', '--report', 'xml'], /expected one of hyperfine, go-bench/],
    [['a', 'b', '--command', 'x', '--report-file', 'f'], /--report-file needs --report/],
    [['a', 'b', '--minimum-effect', '0'], /expected 1% to 50%/],
    [['a', 'b', '--minimum-effect', '80%'], /expected 1% to 50%/],
    [['a', 'b', '--timeout', '1.5'], /expected whole seconds/],
    [['a', 'b', '--timeout', '0'], /expected whole seconds/],
    [['a', 'b', '--json', '--markdown'], /exclude each other/],
  ])('refuses %j and says what it expected', (argv, message) => {
    expect(() => parseCompareArguments(argv)).toThrow(message);
    expect(() => parseCompareArguments(argv)).toThrow(expect.objectContaining({ code: 'COMPARE_ARGUMENTS' }));
  });
});

describe('a published package as a subject', () => {
  it.each([
    ['npm:cookie@0.4.2', 'cookie', '0.4.2'],
    ['npm:@scope/some.name@^1.0.0', '@scope/some.name', '^1.0.0'],
    ['npm:left-pad@latest', 'left-pad', 'latest'],
  ])('reads %s', (given, name, version) => {
    expect(parsePackageSpec(given)).toEqual({ name, version });
  });

  it.each([
    'npm:cookie',
    'npm:@1.0.0',
    'npm:a/b@1',
    'npm:cookie@file:../x',
    'npm:cookie@https://x/y',
    'npm:../x@1',
    'npm:cookie@1 2',
  ])('refuses %s', (given) => {
    expect(() => parsePackageSpec(given)).toThrow(/expected npm:name@version/);
  });
});
