/**
 * One whole run, observed from inside the service's process (service-journal.mjs): which commands it ran in containers, and
 * what it waited for in every instant.
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { harnessArgv } from '../../src/evaluator/harness-protocol.js';
import { type Activity, divideTime } from './time-ledger.js';

/** What an instant of a run can belong to, in the order of `PRECEDENCE`. */
export type Share =
  | 'install'
  | 'build'
  | 'test'
  | 'measure'
  | 'modelTools'
  | 'dependencyPhase'
  | 'workspaces'
  | 'containerStartStop'
  | 'observationCare'
  | 'gitMirror'
  | 'modelWaiting'
  | 'githubWaiting';

/** Commands come first and waiting last, so that waiting is what nothing else ran beside. */
export const PRECEDENCE: readonly Share[] = [
  'install',
  'build',
  'test',
  'measure',
  'modelTools',
  'dependencyPhase',
  'workspaces',
  'containerStartStop',
  'observationCare',
  'gitMirror',
  'modelWaiting',
  'githubWaiting',
];

export type CommandKind = 'install' | 'build' | 'test' | 'measure';

/** A command of the run, to be played again elsewhere. */
export interface SeenCommand {
  readonly kind: CommandKind;
  readonly argv: readonly string[];
  /** `NAME=value`, without what every container has. */
  readonly env: readonly string[];
  /** Workspace that it ran in: `plan`, `base`, `patch` or `copy`. */
  readonly place: string;
  /** Whether it ran in a pinned arm. */
  readonly isPinned: boolean;
  readonly from: number;
}

export interface ObservedRun {
  /** In the order in which they began. */
  readonly commands: readonly SeenCommand[];
  readonly activities: readonly Activity<Share>[];
}

export interface Peers {
  /** `http://host:port` */
  readonly github: string;
  readonly model: string;
  readonly build: string;
  readonly test: string;
}

const times = { from: z.number(), to: z.number() };
const lineSchema = z.discriminatedUnion('peer', [
  z.object({ peer: z.literal('git'), what: z.string(), ...times }),
  z.object({ peer: z.literal('http'), origin: z.string(), path: z.string(), ...times }),
  z.object({
    peer: z.literal('docker'),
    method: z.string(),
    path: z.string(),
    request: z
      .object({
        Cmd: z.array(z.string()).optional(),
        Env: z.array(z.string()).nullish(),
        Labels: z.record(z.string(), z.string()).optional(),
      })
      .optional(),
    answer: z.string().optional(),
    ...times,
  }),
]);
type Line = z.infer<typeof lineSchema>;
type EngineCall = Extract<Line, { peer: 'docker' }>;

/** Reads a journal. Throws when a line is none of its own. */
export async function readJournal(file: string): Promise<readonly Line[]> {
  const text = await readFile(file, 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => lineSchema.parse(JSON.parse(line)));
}

/** Tells from the journal what went on. */
export function observeRun(lines: readonly Line[], peers: Peers): ObservedRun {
  const calls = lines.filter((line) => line.peer === 'docker');
  const containers = createdContainers(calls, peers);
  const activities: Activity<Share>[] = [];
  for (const line of lines) {
    if (line.peer === 'git') activities.push({ name: 'gitMirror', from: line.from, to: line.to });
    if (line.peer === 'http' && line.origin === peers.github)
      activities.push({ name: 'githubWaiting', ...span(line) });
    if (line.peer === 'http' && line.origin === peers.model)
      activities.push({ name: 'modelWaiting', ...span(line) });
  }
  const execs = new Map<string, Container>();
  const commands: SeenCommand[] = [];
  for (const call of calls) {
    const container = containers.get(idOf(call, /\/containers\/([0-9a-f]{64})/) ?? idOfAnswer(call) ?? '');
    if (call.method === 'POST' && /\/containers\/[^/]+\/exec$/.test(call.path) && container !== undefined)
      execs.set(idOfAnswer(call) ?? '', container);
  }
  for (const call of calls) activities.push(...ofEngineCall(call, containers, execs, commands));
  for (const container of containers.values()) {
    if (container.running === null) continue;
    activities.push({ name: container.share, ...container.running });
    if (isCommandKind(container.share)) {
      const { argv, env, place } = container;
      commands.push({
        kind: container.share,
        argv,
        env,
        place,
        isPinned: false,
        from: container.running.from,
      });
    }
  }
  return { commands: commands.sort((a, b) => a.from - b.from), activities };
}

interface Container {
  /** Part of its name that says what it is for. */
  readonly what: string;
  readonly place: string;
  /** What its command's time belongs to, and what making and removing it does. */
  readonly share: Share;
  readonly careShare: Share;
  readonly argv: readonly string[];
  readonly env: readonly string[];
  running: { readonly from: number; readonly to: number } | null;
}

function createdContainers(calls: readonly EngineCall[], peers: Peers): Map<string, Container> {
  const containers = new Map<string, Container>();
  for (const call of calls) {
    if (!/\/containers\/create/.test(call.path)) continue;
    const id = idOfAnswer(call);
    if (id === null) continue;
    const name = new URL(call.path, 'http://engine').searchParams.get('name') ?? '';
    const what = /^hasten-[0-9a-f]{8}-[0-9a-z]+-(.+)-\d+$/.exec(name)?.[1] ?? 'file-drop';
    // The watcher around a command: sh -c SCRIPT sh SECONDS MARKER DIRECTORY, then the command.
    const argv = (call.request?.Cmd ?? []).slice(7);
    const place = /^(plan|base|patch|copy)/.exec(what)?.[1] ?? '';
    const env = (call.request?.Env ?? []).filter((one) => !/^(HOME|TMPDIR)=/.test(one));
    containers.set(id, { what, place, argv, env, ...sharesOf(what, argv, peers), running: null });
  }
  for (const call of calls) {
    const container = containers.get(idOf(call, /\/containers\/([0-9a-f]{64})\/(?:start|wait)/) ?? '');
    if (container === undefined || container.what.endsWith('-arm')) continue;
    if (call.path.includes('/start'))
      container.running = { from: call.to, to: container.running?.to ?? call.to };
    if (call.path.includes('/wait'))
      container.running = { from: container.running?.from ?? call.from, to: call.to };
  }
  return containers;
}

function sharesOf(
  what: string,
  argv: readonly string[],
  peers: Peers,
): Pick<Container, 'share' | 'careShare'> {
  const care = { careShare: 'containerStartStop' } as const;
  const shell = argv[0] === 'sh' && argv[1] === '-c' ? argv[2] : undefined;
  if (what === 'install' || what === 'rebuild') return { share: 'install', careShare: 'dependencyPhase' };
  if (what === 'keep-modules') return { share: 'dependencyPhase', careShare: 'dependencyPhase' };
  if (what === 'file-drop' || what === 'tree' || what === 'copy' || what.endsWith('-git'))
    if (shell !== peers.build && !isHarness(argv)) return { share: 'workspaces', careShare: 'workspaces' };
  if (shell === peers.build) return { share: 'build', ...care };
  if (shell === peers.test) return { share: 'test', ...care };
  if (isHarness(argv)) return { share: 'measure', ...care };
  return { share: 'modelTools', ...care };
}

function ofEngineCall(
  call: EngineCall,
  containers: ReadonlyMap<string, Container>,
  execs: ReadonlyMap<string, Container>,
  commands: SeenCommand[],
): Activity<Share>[] {
  const exec = execs.get(idOf(call, /\/exec\/([0-9a-f]{64})/) ?? '');
  if (exec !== undefined && call.path.includes('/start')) {
    const place = exec.place;
    commands.push({ kind: 'measure', argv: harnessArgv(), env: [], place, isPinned: true, from: call.from });
    return [{ name: 'measure', ...span(call) }];
  }
  if (exec !== undefined) return [{ name: 'observationCare', ...span(call) }];
  if (/\/volumes/.test(call.path)) return [{ name: 'workspaces', ...span(call) }];
  // These last as long as the command; its own time is known from start and wait.
  if (/\/(attach|wait)(\?|$)/.test(call.path)) return [];
  const container = containers.get(idOf(call, /\/containers\/([0-9a-f]{64})/) ?? idOfAnswer(call) ?? '');
  if (container === undefined) return [{ name: 'containerStartStop', ...span(call) }];
  const isArmCare = container.what.endsWith('-arm') && /\/(exec|top|stats|json)/.test(call.path);
  return [{ name: isArmCare ? 'observationCare' : container.careShare, ...span(call) }];
}

/** Seconds of the run by share; `service` is what is left: its own code, its database, its timers. */
export function secondsByShare(
  span: { readonly from: number; readonly to: number },
  run: ObservedRun,
): Readonly<Record<Share | 'service', number>> {
  const spent = divideTime(span, run.activities, PRECEDENCE);
  const seconds = (name: Share | 'idle') => Math.round(spent.get(name) ?? 0) / 1000;
  const known = Object.fromEntries(PRECEDENCE.map((name) => [name, seconds(name)])) as Record<Share, number>;
  return { ...known, service: seconds('idle') };
}

function isCommandKind(share: Share): share is CommandKind {
  return share === 'install' || share === 'build' || share === 'test' || share === 'measure';
}

function isHarness(argv: readonly string[]): boolean {
  const [, program] = harnessArgv();
  return program !== undefined && argv.includes(program);
}

function span({ from, to }: { readonly from: number; readonly to: number }) {
  return { from, to };
}

function idOf(call: EngineCall, pattern: RegExp): string | null {
  return pattern.exec(call.path)?.[1] ?? null;
}

const answerSchema = z.looseObject({ Id: z.string() });

function idOfAnswer(call: EngineCall): string | null {
  if (call.answer === undefined) return null;
  try {
    const parsed = answerSchema.safeParse(JSON.parse(call.answer));
    return parsed.success ? parsed.data.Id : null;
  } catch {
    return null;
  }
}
