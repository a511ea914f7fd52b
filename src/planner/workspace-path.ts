/** The first check of a path that the model gave, before anything reaches the sandbox. */
import { z } from 'zod';

const MAX_PATH_CHARACTERS = 400;

/** Why a path is refused, or null: relative with `/`, no `..`, nothing under `.git`, no control characters. */
export function refusalOfPath(path: string): string | null {
  if (path === '' || path.length > MAX_PATH_CHARACTERS)
    return `a path has 1 to ${MAX_PATH_CHARACTERS} characters`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u001f\u007f\\]/.test(path)) return 'no control characters and no backslashes in a path';
  if (path.startsWith('/') || path.startsWith('~')) return 'paths are relative to the root of the repository';
  const parts = path.split('/');
  if (parts.includes('..')) return 'paths with ".." are refused';
  // Case and trailing dots or spaces: file systems that fold them would open the same folder.
  if (parts.some((part) => /^\.git[. ]*$/i.test(part))) return 'nothing under ".git" can be read or changed';
  return null;
}

/** A path of the model as zod sees it; `./` in front is dropped. */
export const workspacePath = z
  .string()
  .describe('Path relative to the root of the repository, with /')
  .refine((path) => refusalOfPath(path) === null, {
    error: (issue) => refusalOfPath(String(issue.input)) ?? 'refused path',
  })
  .overwrite((path) => path.replace(/^(?:\.\/+)+/, '') || '.');
