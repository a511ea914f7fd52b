/** The publisher for `hasten run` without GitHub: a branch in the local repository and a report on stdout. */
import type { Money } from '../domain/money.js';
import type { SourceMirror } from '../domain/repository.js';
import { approvalLines } from './approval-text.js';
import type { PublisherStations } from './github-publisher.js';
import { branchOf } from './hasten-branch.js';
import { requirePassed } from './passed-run.js';
import { commitMessage } from './pull-request-text.js';
import { renderReport } from './report-text.js';

export interface LocalPublisherDeps {
  readonly mirror: SourceMirror;
  readonly money: Pick<Money, 'spentByRun'>;
  /** Gets the Markdown report when the run has ended. */
  readonly onReport: (markdown: string) => void;
  /** Gets a question of a pause, a line each; how it is answered is the caller's. */
  readonly onQuestion: (lines: readonly string[]) => void;
}

/** Creates the publisher's stations for local use; nothing leaves the machine. */
export function createLocalPublisher(deps: LocalPublisherDeps): PublisherStations {
  return {
    acknowledge: async () => ({ type: 'ACKNOWLEDGED', issueNumber: null }),
    'update-status': async () => null,
    'ask-approval': async (effect) => {
      const { run } = effect.payload;
      deps.onQuestion(approvalLines(run, await deps.money.spentByRun(run.id)));
      return null;
    },
    submit: async (effect, context) => {
      const { run } = effect.payload;
      const passed = requirePassed(run, await deps.money.spentByRun(run.id));
      const branch = branchOf(run.id);
      const commit = await deps.mirror.writeBranch(effect.repository, {
        branch,
        parent: passed.patch.baseCommit,
        tree: passed.patch.tree,
        message: commitMessage(passed),
        at: effect.createdAt,
      });
      context.progress(`branch ${branch} at ${commit.slice(0, 12)}`);
      return {
        type: 'PULL_REQUEST_OPENED',
        submission: { branch, commit, pullNumber: null, url: null, draft: false },
      };
    },
    report: async (effect) => {
      const { run } = effect.payload;
      const spentUsd = await deps.money.spentByRun(run.id);
      deps.onReport(renderReport({ run, spentUsd, at: effect.createdAt }));
      return { type: 'REPORTED' };
    },
    reply: async () => null,
    'make-ready': async () => null,
  };
}
