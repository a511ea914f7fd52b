/** Kinds of values that stand in the environment, as zod schemas from text; each message says what is allowed. */
import { z } from 'zod';

/** A whole number; `unit` is shown in the message, for example ` seconds`. */
export function whole(min: number, max: number, unit = '') {
  const allowed = `a whole number${unit} from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,12}$/, allowed)
    .transform(Number)
    .pipe(z.number().min(min, allowed).max(max, allowed));
}

/** A decimal number such as `2.5`. */
export function decimal(min: number, max: number, unit: string) {
  const allowed = `a number${unit} from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}(\.\d{1,6})?$/, allowed)
    .transform(Number)
    .pipe(z.number().min(min, allowed).max(max, allowed));
}

/** US dollars. */
export function dollars() {
  return decimal(0, 1_000_000, ' of US dollars');
}

/** An absolute http or https address without credentials, query or fragment; a slash at the end is dropped. */
export function webAddress() {
  const allowed =
    'an address that starts with http:// or https://, without user, password, query or fragment';
  return z
    .string()
    .refine(isPlainWebAddress, allowed)
    .transform((text) => text.replace(/\/+$/, ''));
}

function isPlainWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const web = url.protocol === 'http:' || url.protocol === 'https:';
  return web && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

/** `host` or `host:port`, as Probot takes GHE_HOST. */
export function hostAndPort() {
  return z
    .string()
    .regex(
      /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?$/,
      'a host name, with a port where it needs one (github.example.org:8443), without http://',
    );
}

/** Names of accounts, comma separated; lower case, since GitHub's logins ignore case. */
export function accountList() {
  return z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((name) => name.trim().toLowerCase())
        .filter((name) => name !== ''),
    )
    .refine(
      (names) => names.every((name) => /^[a-z0-9](?:[a-z0-9_-]{0,99})$/.test(name)),
      'names of GitHub users or organisations, separated by commas',
    );
}

/** `owner/name` as it stands in a repository's address. */
export function repositoryName() {
  return z
    .string('"owner/name" of a repository')
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}\/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/,
      '"owner/name" of a repository',
    );
}
