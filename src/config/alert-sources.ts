/** The Alertmanagers that may send alerts: each with its token and the repositories that it may name. */
import { z } from 'zod';
import { repositoryName } from './setting-kinds.js';

/** Alerts whose labels equal all of `match` belong to `repository`. */
export interface AlertRoute {
  readonly match: Readonly<Record<string, string>>;
  /** `owner/name`, one of the source's repositories. */
  readonly repository: string;
}

export interface AlertSource {
  readonly name: string;
  /** Bearer token that the source shows; a secret. */
  readonly token: string;
  /** `owner/name` of each repository that its alerts may name. */
  readonly repositories: readonly string[];
  /** First match wins; asked for alerts without the label `hasten_repo`. */
  readonly routes: readonly AlertRoute[];
}

export interface AlertSourceProblem {
  /** Keys inside of the JSON, from the outside in. */
  readonly path: readonly string[];
  readonly allowed: string;
}

const MIN_TOKEN_CHARS = 16;
const TOKEN_ALLOWED = `a token of at least ${MIN_TOKEN_CHARS} visible ASCII characters`;
const SHAPE =
  'JSON like {"prometheus": {"token": "…", "repositories": ["owner/name"], "routes": [{"match": {"service": "web"}, "repository": "owner/name"}]}}';

const routeSchema = z.strictObject({
  match: z
    .record(z.string(), z.string('text'), 'labels with their values')
    .refine((labels) => Object.keys(labels).length > 0, 'at least one label with its value'),
  repository: repositoryName(),
});
const sourceSchema = z.strictObject({
  token: z.string(TOKEN_ALLOWED).regex(new RegExp(`^[!-~]{${MIN_TOKEN_CHARS},512}$`), TOKEN_ALLOWED),
  repositories: z.array(repositoryName(), 'a list of "owner/name"').min(1, 'at least one "owner/name"'),
  routes: z.array(routeSchema, 'a list of routes').default([]),
});
const sourcesSchema = z.record(
  z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, 'a name of letters, digits, ".", "_" and "-"'),
  sourceSchema,
  SHAPE,
);

/** Reads HASTEN_ALERT_SOURCES. Problems never quote a value, since tokens stand among them. */
export function parseAlertSources(
  text: string,
):
  | { readonly sources: readonly AlertSource[]; readonly problems: null }
  | { readonly sources: null; readonly problems: readonly AlertSourceProblem[] } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { sources: null, problems: [{ path: [], allowed: SHAPE }] };
  }
  const result = sourcesSchema.safeParse(json);
  if (!result.success) {
    const problems = result.error.issues.map((issue) => ({
      path: issue.path.map(String),
      allowed:
        issue.code === 'unrecognized_keys'
          ? 'token, repositories, routes (match, repository)'
          : issue.message,
    }));
    return { sources: null, problems };
  }
  const sources = Object.entries(result.data).map(([name, source]) => ({ name, ...source }));
  const problems = [...unlistedRoutes(sources), ...sharedTokens(sources)];
  return problems.length > 0 ? { sources: null, problems } : { sources, problems: null };
}

function unlistedRoutes(sources: readonly AlertSource[]): AlertSourceProblem[] {
  return sources.flatMap((source) =>
    source.routes.flatMap((route, index) =>
      listedRepository(source, route.repository) === null
        ? [
            {
              path: [source.name, 'routes', String(index), 'repository'],
              allowed: 'one of the repositories of this source',
            },
          ]
        : [],
    ),
  );
}

function sharedTokens(sources: readonly AlertSource[]): AlertSourceProblem[] {
  const seen = new Set<string>();
  return sources.flatMap((source) => {
    const shared = seen.has(source.token);
    seen.add(source.token);
    return shared ? [{ path: [source.name, 'token'], allowed: 'a token that no other source has' }] : [];
  });
}

/** The repository as the source lists it, whatever the case of `name`; null when it is not listed. */
export function listedRepository(source: AlertSource, name: string): string | null {
  const wanted = name.toLowerCase();
  return source.repositories.find((listed) => listed.toLowerCase() === wanted) ?? null;
}
