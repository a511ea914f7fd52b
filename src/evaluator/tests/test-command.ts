/** What stands behind a repository's test command: the command with the package scripts that it runs, as one text. */
import { z } from 'zod';
import type { EvaluationContext } from '../evaluation-context.js';

const Manifest = z.object({ scripts: z.record(z.string(), z.string()) });
const RUNS_SCRIPT =
  /\b(?:npm|pnpm|yarn)(?: {1,4}(?:--silent|-s|--if-present))*(?: {1,4}(?:run|run-script))?(?: {1,4}(?:--silent|-s|--if-present))* {1,4}([\w:.-]{1,100})/g;
const SHORT: Readonly<Record<string, string>> = { t: 'test', tst: 'test' };

/** The command, and below it each script of the root's package.json (at the base commit) that it leads to. */
export async function testCommandText(
  context: Pick<EvaluationContext, 'mirror' | 'repository' | 'baseCommit'>,
  command: string,
): Promise<string> {
  const content = await context.mirror.readFile(context.repository, context.baseCommit, 'package.json');
  return expandedCommand(command, content?.toString('utf8') ?? '');
}

/** As above, from the text of package.json. */
export function expandedCommand(command: string, packageJson: string): string {
  const scripts = scriptsOf(packageJson);
  const seen = new Set<string>();
  const texts = [command];
  for (const text of texts) {
    for (const [, word = ''] of text.matchAll(RUNS_SCRIPT)) {
      const name = SHORT[word] ?? word;
      if (seen.has(name)) continue;
      seen.add(name);
      for (const part of [`pre${name}`, name, `post${name}`]) {
        const script = scripts.get(part);
        if (script !== undefined) texts.push(script);
      }
    }
  }
  return texts.join('\n');
}

function scriptsOf(packageJson: string): ReadonlyMap<string, string> {
  try {
    const parsed = Manifest.safeParse(JSON.parse(packageJson));
    return new Map(parsed.success ? Object.entries(parsed.data.scripts) : []);
  } catch {
    return new Map();
  }
}
