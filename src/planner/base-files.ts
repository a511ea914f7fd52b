/**
 * Listing and reading the base commit's files out of the host's bare mirror: while planning the workspace is that commit,
 * and nothing of it runs or is written for looking. Whatever is not a regular file of the commit is left to the sandbox.
 */
import { isUtf8 } from 'node:buffer';
import type { RepositoryRef, SourceMirror } from '../domain/repository.js';
import { headAndTail } from './bounded-text.js';

export interface BaseFiles {
  /** One path per line, below `path` (`.` for all), or null where git would quote a name or nothing is there. */
  list(path: string): Promise<string | null>;
  /** Lines `first` to `last` with the heading of `READ_FILE`, or null for what the commit does not hold as text. */
  read(path: string, first: number, last: number): Promise<string | null>;
}

const SUBMODULE = '160000';
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** Answers from `base` until `isTouched` says that the workspace may differ from it; then everything is left to the sandbox. */
export function untilTouched(base: BaseFiles, isTouched: () => boolean): BaseFiles {
  return {
    list: async (path) => (isTouched() ? null : base.list(path)),
    read: async (path, first, last) => (isTouched() ? null : base.read(path, first, last)),
  };
}

/** `outputBytes` bounds each answer. */
export function createBaseFiles(
  mirror: SourceMirror,
  repository: RepositoryRef,
  commit: string,
  outputBytes: number,
): BaseFiles {
  return {
    async list(path) {
      const folder = path.replace(/\/+$/, '');
      const paths = (await mirror.listFiles(repository, commit))
        .filter(({ mode }) => mode !== SUBMODULE)
        .map((entry) => entry.path)
        .filter((one) => folder === '.' || one === folder || one.startsWith(`${folder}/`));
      if (paths.length === 0 || paths.some(isQuotedByGit)) return null;
      return headAndTail(`${paths.join('\n')}\n`, outputBytes);
    },
    async read(path, first, last) {
      const content = await mirror.readFile(repository, commit, path);
      if (content === null || content.length > MAX_FILE_BYTES) return null;
      if (content.includes(0) || !isUtf8(content)) return null;
      const lines = content.toString('utf8').split('\n');
      if (lines.at(-1) === '') lines.pop();
      const from = Math.min(first, Math.max(1, lines.length));
      const to = Math.min(last, lines.length);
      const heading = `[${path}, lines ${from}-${to} of ${lines.length}]`;
      return headAndTail(`${heading}\n${lines.slice(from - 1, to).join('\n')}\n`, outputBytes);
    },
  };
}

function isQuotedByGit(path: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what git quotes
  return /[\u0000-\u001f\u007f"\\]/.test(path);
}
