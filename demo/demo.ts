/** The demo: a real published package before a known fix, a GitHub issue with a label, and the service that answers it. */
import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { listCases, loadCase, materialise } from '../test/support/npm-case.js';
import { rejectScript, scriptFromCase } from '../test/support/scripted-model/case-script.js';
import { type LogEntry, type Stage, startStage } from '../test/support/stage.js';
import { type DemoPrinter, jsonPrinter, textPrinter } from './printer.js';

const DEFAULT_CASE = 'semver-773';
const REPOSITORY_OWNER = 'acme';
const TIME_LIMIT_MS = 30 * 60 * 1000;
const POLL_MS = 100;

const USAGE = `npm run demo [-- --case ID] [-- --reject] [-- --json]

Sets everything up and plays one whole run: the service as its own process, an emulated GitHub with signed webhooks and
git over HTTP, a model's endpoint, and a published npm package at the version before a known performance fix.

  --case ID   which package (default ${DEFAULT_CASE}); --list shows them
  --reject    plays a patch that makes nothing faster: there must be no pull request
  --json      one JSON object per line, the last with the result`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      case: { type: 'string', default: DEFAULT_CASE },
      reject: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (values.list) {
    for (const each of await listCases())
      console.log(`${each.id.padEnd(20)} ${each.expected.padEnd(10)} ${each.issue_title}`);
    return 0;
  }
  const printer = values.json ? jsonPrinter(console.log) : textPrinter(console.log);
  return play(values.case, values.reject, printer);
}

async function play(caseId: string, reject: boolean, printer: DemoPrinter): Promise<number> {
  const subject = await loadCase(caseId);
  const repository = await materialise(subject);
  const fullName = `${REPOSITORY_OWNER}/${subject.package.replace(/^@/, '').replace('/', '-')}`;
  const real = (process.env.OPENAI_API_KEY ?? '') !== '' || (process.env.OPENAI_BASE_URL ?? '') !== '';
  const forScript = {
    baseFiles: repository.files,
    fixFiles: repository.fixFiles,
    diffFiles: subject.diff_files,
    ...(repository.heldBack === null ? {} : { heldBack: repository.heldBack }),
  };
  const script = real ? null : reject ? rejectScript(forScript) : scriptFromCase(forScript);
  printer.intro({
    subject: `${subject.package} ${subject.base}, before ${subject.fix}`,
    repository: fullName,
    model: real
      ? `the model of your environment (${process.env.HASTEN_MODEL ?? 'default'})`
      : `none: no OPENAI_API_KEY or OPENAI_BASE_URL is set, so a local endpoint plays a script made from the known ${reject ? 'case, with a patch that changes nothing' : 'fix'}`,
  });
  const stage = await startStage({
    repositories: new Map([[fullName, repository.files]]),
    script,
    env: real ? modelEnvironment() : {},
  });
  const stop = (): void => void stage.close().finally(() => process.exit(130));
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  try {
    const issue = await stage.github.people.openIssue('writer', fullName, {
      title: repository.issueTitle,
      body: repository.issueBody,
    });
    printer.line(`issue #${issue}: ${repository.issueTitle}`);
    await stage.github.people.addLabel('writer', fullName, issue, 'hasten');
    printer.line('label hasten added');
    const ended = await follow(stage, printer);
    return await conclude({ stage, fullName, issue, ended, reject, printer, caseId });
  } finally {
    await stage.close();
  }
}

function modelEnvironment(): Record<string, string> {
  const names = Object.keys(process.env).filter((name) => /^(OPENAI_|HASTEN_MODEL)/.test(name));
  return Object.fromEntries(names.map((name) => [name, process.env[name] ?? '']));
}

/** Prints the run as it goes; resolves with the entry that ended it. */
async function follow(stage: Stage, printer: DemoPrinter): Promise<LogEntry> {
  const started = Date.now();
  let seen = 0;
  while (Date.now() - started < TIME_LIMIT_MS) {
    const entries = stage.log();
    for (const entry of entries.slice(seen)) {
      printer.entry(entry);
      if (entry.transition?.to === 'paused') return entry;
      if (entry.transition?.to === 'listening') return entry;
    }
    seen = entries.length;
    const { exit } = stage.service();
    if (exit !== undefined) throw new Error('The service ended before the run did.');
    await pause(POLL_MS);
  }
  throw new Error('The run did not end within 30 minutes.');
}

const pullsShape = z.array(
  z.looseObject({
    number: z.number(),
    title: z.string(),
    body: z.string().nullable(),
    draft: z.boolean(),
    head: z.looseObject({ ref: z.string() }),
    base: z.looseObject({ ref: z.string() }),
  }),
);
const commentsShape = z.array(z.looseObject({ body: z.string() }));

interface Conclusion {
  readonly stage: Stage;
  readonly fullName: string;
  readonly issue: number;
  readonly ended: LogEntry;
  readonly reject: boolean;
  readonly printer: DemoPrinter;
  readonly caseId: string;
}

async function conclude(conclusion: Conclusion): Promise<number> {
  const { stage, fullName, issue, ended, reject, printer } = conclusion;
  const [pull] = pullsShape.parse(await stage.github.pulls(fullName));
  const comments = commentsShape.parse(await stage.github.comments(fullName, issue));
  const status = comments.at(-1)?.body ?? '';
  const outcome = ended.transition?.to === 'paused' ? 'paused' : (ended.outcome ?? 'unknown');
  if (pull !== undefined) {
    printer.pullRequest({
      number: pull.number,
      title: pull.title,
      body: pull.body ?? '',
      draft: pull.draft,
      diffStat: await diffStat(stage, fullName, pull.base.ref, pull.head.ref),
    });
  } else {
    printer.comment(status);
  }
  const ok = reject ? pull === undefined && outcome === 'failed' : pull !== undefined;
  printer.result({
    ok,
    case: conclusion.caseId,
    outcome,
    reason: ended.reason ?? null,
    pull: pull?.number ?? null,
    title: pull?.title ?? null,
    spentUsd: ended.spentUsd ?? null,
    modelCalls: stage.model?.calls().length ?? null,
  });
  return ok ? 0 : 1;
}

async function diffStat(stage: Stage, fullName: string, base: string, head: string): Promise<string> {
  const diff = await stage.github.diff(fullName, base, head);
  try {
    return execFileSync('git', ['apply', '--stat'], {
      input: diff,
      encoding: 'utf8',
      timeout: 10_000,
    }).trimEnd();
  } catch {
    return '';
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? `demo: ${error.message}` : error);
    process.exit(1);
  },
);
