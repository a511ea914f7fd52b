/** The sentences that are answered to people who asked for something that Hasten does not do (so). */

export const PULL_REQUEST_REPLY =
  'Hasten works from issues for now: describe what is slow in an issue and put the label `hasten` on it, or write `/hasten run` there.';

export const HELP_REPLY = [
  'Hasten knows these commands, each alone on its line, from people with write permission:',
  '',
  '- `/hasten run [hint]` starts a run for this issue',
  '- `/hasten approve [hint]` lets a paused run go on',
  '- `/hasten reject [reason]` ends a paused run',
  '- `/hasten cancel` ends the run',
  '- `/hasten status` tells where it stands',
].join('\n');

export const SEVERAL_REPLY =
  'This comment has more than one `/hasten` command, so none of them was taken: write one per comment.';
