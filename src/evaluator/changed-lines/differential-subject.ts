/** What the differential comparison works on: which modules it loads, and real inputs out of the base's own files. */
import type { EvaluationContext } from '../evaluation-context.js';
import { type DifferentialInputs, recordedInputs } from './recorded-calls.js';

const LOADABLE = /\.[cm]?js$/i;
const USING =
  /(^|\/)(tests?|__tests__|spec|specs|bench|benches|benchmarks?|examples?)\/.*\.[cm]?[jt]sx?$|[._-](test|spec|bench)\.[cm]?[jt]sx?$/i;
const MOST_FILES = 60;
const MOST_BYTES = 200_000;

/** The entry first, then the changed files that Node can load themselves, for what the entry does not export. */
export function modulesOf(
  { benchmark, settings }: Pick<EvaluationContext, 'benchmark' | 'settings'>,
  files: readonly string[],
): { readonly entry: string | null; readonly modules: readonly string[] } {
  const given = benchmark.kind === 'module' ? benchmark.entry : settings.entry;
  const entry = given === null ? null : given.replace(/^\.\//, '');
  const modules = [...new Set([...(entry === null ? [] : [entry]), ...files])];
  return { entry, modules: modules.filter((path) => LOADABLE.test(path)) };
}

/** From the base's tests, the benchmark and the changed files as they were: never from the patch, which could choose. */
export async function inputsOf(
  context: EvaluationContext,
  files: readonly string[],
): Promise<DifferentialInputs> {
  const { mirror, repository, baseCommit, benchmark } = context;
  const entries = await mirror.listFiles(repository, baseCommit);
  const using = entries.filter(
    ({ path, size }) => USING.test(path) && size <= MOST_BYTES && !path.includes('node_modules/'),
  );
  const paths = [...using.slice(0, MOST_FILES).map(({ path }) => path), ...files];
  const sources = new Map<string, string>();
  if (benchmark.kind === 'module') sources.set(benchmark.path, benchmark.source);
  for (const path of paths) {
    const content = sources.has(path) ? null : await mirror.readFile(repository, baseCommit, path);
    if (content !== null) sources.set(path, content.toString('utf8'));
  }
  return recordedInputs(sources);
}
