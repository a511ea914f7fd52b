/**
 * `npm run bench -- overhead`: what a whole run costs beside its commands.
 *
 * `ratio` is the wall time of a run, from the delivery of the label's webhook to the transition back to `listening`, less the
 * time in which it only waited for the model or for GitHub, divided by the wall time of the same commands (install,
 * every build, every test, every process of the benchmark, in their order) played by `docker exec` in one container that is
 * already there (bare-container.ts). The service runs as its own process against a real Docker engine. Commands of the
 * model's tools are not played again, so that they count as overhead.
 *
 * Waiting is measured where it happens: service-journal.mjs is loaded into the service's process and notes each HTTP
 * exchange with the model's endpoint and with GitHub from its creation to the last byte of the answer, next to each call to
 * the Docker engine and each git process. Only instants count as waiting in which nothing else was under way, no container, no call
 * to the engine, no git (a `git fetch` from GitHub stays in `gitMirror`): time that overlaps with work is work.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readRegistryUrl } from '../../src/sandbox/registry-url.js';
import { scriptFromCase } from '../support/scripted-model/case-script.js';
import { type Stage, startStage } from '../support/stage.js';
import { type KindSeconds, playInBareContainer } from './bare-container.js';
import { type BuiltSubject, builtSubject } from './built-subject.js';
import { type ObservedRun, observeRun, readJournal, type Share, secondsByShare } from './observed-run.js';

const USAGE = `npm run bench -- overhead [--json] [--repetitions N]

Wall time of whole runs, without waiting for model and GitHub, over the wall time of the same commands in one container
that is already there; the median of N pairs (default 3), each pair one run and then its commands.`;

const JOURNAL_MODULE = new URL('./service-journal.mjs', import.meta.url).href;
const RUN_LIMIT_MS = 20 * 60 * 1000;
const LEAST_COMMAND_SECONDS = 60;

interface Repetition {
  readonly ratio: number;
  /** The run's working time over the time in which its own commands ran: the same question inside one window of the host's load. */
  readonly withinRun: number;
  /** Seconds from the webhook to the end. */
  readonly runSeconds: number;
  /** Of these, waiting for the model and for GitHub. */
  readonly waitingSeconds: number;
  /** Seconds of the same commands in one container. */
  readonly commandSeconds: number;
  readonly commandSecondsByKind: KindSeconds;
  readonly commands: Readonly<Record<string, number>>;
  readonly breakdown: Readonly<Record<Share | 'service', number>>;
  /** 1-minute load averages of the host: before the run, after it, after its commands. */
  readonly hostLoad: readonly number[];
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      repetitions: { type: 'string', default: '3' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(USAGE);
  const wanted = Number(values.repetitions);
  if (!Number.isInteger(wanted) || wanted < 1)
    throw new Error('--repetitions takes a whole number from 1 on');
  const tell = (line: string) => (values.json ? console.error(line) : console.log(line));
  const repetitions = await repeat(wanted, tell);
  const sorted = [...repetitions].sort((a, b) => a.ratio - b.ratio);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (middle === undefined) throw new Error('unreachable');
  const result = {
    bench: 'overhead',
    case: 'semver-773, built with the TypeScript compiler and tested for its order',
    ...middle,
    ratios: repetitions.map((one) => one.ratio),
    longEnough: repetitions.every((one) => one.commandSeconds >= LEAST_COMMAND_SECONDS),
    repetitions,
  };
  console.log(values.json ? JSON.stringify(result) : JSON.stringify(result, null, 2));
}

async function repeat(wanted: number, tell: (line: string) => void): Promise<readonly Repetition[]> {
  const subject = await builtSubject();
  const folder = mkdtempSync(join(tmpdir(), 'hasten-overhead-'));
  const journal = join(folder, 'journal.jsonl');
  const names = Array.from({ length: wanted }, (_, at) => `acme/subject-${at + 1}`);
  const registryUrl = await readRegistryUrl(process.env);
  const { files: baseFiles, fixFiles, diffFiles } = subject;
  const stage = await startStage({
    repositories: new Map(names.map((name) => [name, baseFiles])),
    script: scriptFromCase({ baseFiles, fixFiles, diffFiles }),
    env: {
      HASTEN_NPM_REGISTRY: registryUrl,
      HASTEN_BENCH_JOURNAL: journal,
      NODE_OPTIONS: `--import=${JOURNAL_MODULE}`,
    },
  });
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)));
  try {
    const repetitions: Repetition[] = [];
    for (const name of names) {
      const before = load();
      const span = await wholeRun(stage, subject, name, stopping.signal);
      const after = load();
      const run = await observedIn(journal, span, stage, subject);
      const playing = await playInBareContainer(
        {
          image: process.env.HASTEN_SANDBOX_IMAGE ?? 'hasten-sandbox:latest',
          registryUrl,
          dataDir: folder,
          cpuset: String(availableParallelism() - 1),
          places: placesOf(subject),
          benchmark: subject.benchmark,
        },
        run.commands,
        stopping.signal,
      );
      const one = repetition(span, run, playing, [before, after, load()]);
      repetitions.push(one);
      tell(
        `${name}: run ${one.runSeconds} s, waiting ${one.waitingSeconds} s, commands alone ${one.commandSeconds} s, ratio ${one.ratio}`,
      );
    }
    return repetitions;
  } finally {
    await stage.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Span {
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
}

/** Labels an issue and waits for the run's end. Throws unless it ends with a pull request. */
async function wholeRun(
  stage: Stage,
  subject: BuiltSubject,
  name: string,
  signal: AbortSignal,
): Promise<Span> {
  const { people } = stage.github;
  const seen = stage.log().length;
  const issue = await people.openIssue('writer', name, {
    title: subject.issueTitle,
    body: subject.issueBody,
  });
  await people.addLabel('writer', name, issue, 'hasten');
  const deadline = Date.now() + RUN_LIMIT_MS;
  for (;;) {
    const ended = stage
      .log()
      .slice(seen)
      .find(({ transition }) => transition?.to === 'listening' || transition?.to === 'paused');
    if (ended !== undefined) {
      if (ended.outcome !== 'pull-request')
        throw new Error(`the run ended as ${ended.outcome}: ${ended.reason}`);
      const label = stage.github
        .deliveries()
        .findLast((one) => one.event === 'issues' && one.action === 'labeled');
      if (label === undefined) throw new Error('no webhook was sent for the label');
      return { from: label.deliveredAt.getTime(), to: ended.time };
    }
    if (stage.service().exit !== undefined || Date.now() > deadline) {
      const tail = stage.log().slice(-10);
      throw new Error(`the run did not end:\n${tail.map((entry) => entry.msg).join('\n')}`);
    }
    signal.throwIfAborted();
    await pause(200);
  }
}

async function observedIn(
  journal: string,
  span: Span,
  stage: Stage,
  { build, test }: BuiltSubject,
): Promise<ObservedRun> {
  const lines = await readJournal(journal);
  const model = new URL(stage.model?.baseUrl ?? 'http://none').origin;
  const within = lines.filter((line) => line.to > span.from && line.from < span.to);
  return observeRun(within, { github: stage.github.url, model, build, test });
}

/** The workspaces of a run: three of the base, one with the change. */
function placesOf({ files, fixFiles }: BuiltSubject): Map<string, ReadonlyMap<string, Buffer>> {
  const patched = new Map([...files, ...fixFiles]);
  return new Map([
    ['base', files],
    ['copy', files],
    ['patch', patched],
    ['plan', patched],
  ]);
}

function repetition(
  span: Span,
  run: ObservedRun,
  playing: { readonly seconds: number; readonly secondsByKind: KindSeconds },
  hostLoad: readonly number[],
): Repetition {
  const breakdown = secondsByShare(span, run);
  const runSeconds = (span.to - span.from) / 1000;
  const waitingSeconds = breakdown.modelWaiting + breakdown.githubWaiting;
  const ownSeconds = breakdown.install + breakdown.build + breakdown.test + breakdown.measure;
  const commands: Record<string, number> = {};
  for (const { kind } of run.commands) commands[kind] = (commands[kind] ?? 0) + 1;
  return {
    ratio: rounded((runSeconds - waitingSeconds) / playing.seconds),
    withinRun: rounded((runSeconds - waitingSeconds) / ownSeconds),
    runSeconds: rounded(runSeconds),
    waitingSeconds: rounded(waitingSeconds),
    commandSeconds: rounded(playing.seconds),
    commandSecondsByKind: {
      install: rounded(playing.secondsByKind.install),
      build: rounded(playing.secondsByKind.build),
      test: rounded(playing.secondsByKind.test),
      measure: rounded(playing.secondsByKind.measure),
    },
    commands,
    breakdown,
    hostLoad,
  };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function load(): number {
  return rounded(loadavg()[0] ?? 0);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? `overhead: ${error.message}` : error);
    process.exit(1);
  },
);
