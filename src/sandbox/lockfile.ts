/** Reads from lockfiles what the dependency phase needs: whether there is anything to install, and which packages may be fetched. */
import { z } from 'zod';
import { isPackageName } from './registry-path.js';

export interface LockfileFacts {
  /** False when nothing would be installed. */
  readonly hasDependencies: boolean;
  /** Names that the mirror may serve, or null where the format is not read. */
  readonly packages: ReadonlySet<string> | null;
  /** Whether a package runs scripts when installed; true where the format does not say. */
  readonly hasInstallScripts: boolean;
}

const NOTHING: LockfileFacts = { hasDependencies: false, packages: new Set(), hasInstallScripts: false };

interface NpmV1Dependency {
  readonly version?: string | undefined;
  readonly dependencies?: Record<string, NpmV1Dependency> | undefined;
}
const NpmV1: z.ZodType<NpmV1Dependency> = z.lazy(() =>
  z.looseObject({
    version: z.string().optional(),
    dependencies: z.record(z.string(), NpmV1).optional(),
  }),
);
const NpmLockfile = z.looseObject({
  packages: z
    .record(
      z.string(),
      z.looseObject({
        name: z.string().optional(),
        link: z.boolean().optional(),
        hasInstallScript: z.boolean().optional(),
      }),
    )
    .optional(),
  dependencies: z.record(z.string(), NpmV1).optional(),
});

/** `package-lock.json` or `npm-shrinkwrap.json`, versions 1 to 3. Text that is none allows no package; npm itself will say why. */
export function readNpmLockfile(text: string): LockfileFacts {
  const parsed = NpmLockfile.safeParse(parseJson(text));
  if (!parsed.success) return { hasDependencies: true, packages: new Set(), hasInstallScripts: true };
  const { packages, dependencies } = parsed.data;
  if (packages === undefined) return fromVersion1(dependencies ?? {});
  const names = new Set<string>();
  let count = 0;
  let scripts = false;
  for (const [path, entry] of Object.entries(packages)) {
    const name = entry.name ?? path.split('node_modules/').at(-1) ?? '';
    if (!/(^|\/)node_modules\//.test(path)) continue;
    count += 1;
    if (entry.link === true) continue;
    scripts ||= entry.hasInstallScript === true;
    if (isPackageName(name)) names.add(name);
  }
  return count === 0 ? NOTHING : { hasDependencies: true, packages: names, hasInstallScripts: scripts };
}

function fromVersion1(dependencies: Record<string, NpmV1Dependency>): LockfileFacts {
  const names = new Set<string>();
  const visit = (level: Record<string, NpmV1Dependency>) => {
    for (const [name, entry] of Object.entries(level)) {
      const alias = /^npm:(@?[^@]+)@/.exec(entry.version ?? '');
      const real = alias?.[1] ?? name;
      if (isPackageName(real)) names.add(real);
      if (entry.dependencies !== undefined) visit(entry.dependencies);
    }
  };
  visit(dependencies);
  if (Object.keys(dependencies).length === 0) return NOTHING;
  return { hasDependencies: true, packages: names, hasInstallScripts: true };
}

/** `yarn.lock` of yarn 1: an entry starts at column 0 and ends with a colon. */
export function readYarnLockfile(text: string): LockfileFacts & { readonly berry: boolean } {
  const berry = /^__metadata:/m.test(text);
  const hasDependencies = text
    .split('\n')
    .some((line) => /^[^\s#].*:\s*$/.test(line) && !line.startsWith('__metadata'));
  if (!hasDependencies) return { ...NOTHING, berry };
  return { hasDependencies, packages: null, hasInstallScripts: true, berry };
}

/** `pnpm-lock.yaml`: packages stand in the sections `packages` or `snapshots`. */
export function readPnpmLockfile(text: string): LockfileFacts {
  if (!/^(packages|snapshots):[ \t]*\r?$/m.test(text) && !/^\s+(link|version): link:/m.test(text))
    return NOTHING;
  return { hasDependencies: true, packages: null, hasInstallScripts: true };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
