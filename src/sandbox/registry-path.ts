/** Decides what a request to the registry mirror asks for; whatever is neither a package document nor a tarball is refused. */

export type RegistryTarget =
  | { readonly kind: 'document'; readonly package: string }
  | { readonly kind: 'tarball'; readonly package: string; readonly file: string };

const NAME_PART = /^[A-Za-z0-9~-][A-Za-z0-9._~-]*$/;
const TARBALL = /^[A-Za-z0-9~-][A-Za-z0-9._~+-]*\.tgz$/;
const MAX_NAME = 214;
const MAX_PATH = 600;

/**
 * Reads the path of `GET /name`, `/@scope%2fname`, `/@scope/name`, `/name/-/file.tgz` or `/@scope/name/-/file.tgz`.
 * Query and fragment are dropped; the only escape that is understood is `%2f`; everything else gives null.
 */
export function parseRegistryPath(url: string): RegistryTarget | null {
  const path = url.split(/[?#]/, 1)[0] ?? '';
  if (!path.startsWith('/') || path.length > MAX_PATH) return null;
  const parts = path
    .slice(1)
    .replace(/^(@[^/%]+)%2f/i, '$1/')
    .split('/');
  const scoped = parts[0]?.startsWith('@') ?? false;
  const nameParts = parts.slice(0, scoped ? 2 : 1);
  const name = nameParts.join('/');
  if (!isPackageName(name)) return null;
  const rest = parts.slice(nameParts.length);
  if (rest.length === 0) return { kind: 'document', package: name };
  const [dash, file] = rest;
  if (rest.length !== 2 || dash !== '-' || file === undefined || !TARBALL.test(file)) return null;
  return { kind: 'tarball', package: name, file };
}

/** Whether it is a name that a registry may hold, old ones with capitals included. */
export function isPackageName(name: string): boolean {
  if (name.length > MAX_NAME) return false;
  const parts = name.startsWith('@') ? name.slice(1).split('/') : [name];
  return parts.length === (name.startsWith('@') ? 2 : 1) && parts.every((part) => NAME_PART.test(part));
}

/** The target's path at a registry. */
export function registryPath(target: RegistryTarget): string {
  if (target.kind === 'tarball') return `${target.package}/-/${target.file}`;
  return target.package.replace('/', '%2f');
}
