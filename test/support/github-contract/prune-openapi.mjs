// Makes fixtures/github/api.github.com.json.gz: GitHub's published OpenAPI description, cut down to the
// operations that Hasten calls and that the emulated GitHub answers.
//
// Source: npm package @octokit/openapi, version 23.0.2 (MIT), file generated/api.github.com.json.
// The package unpacks to 385 MB, so it is fetched into a temporary folder and is no dependency:
//
//   node test/support/github-contract/prune-openapi.mjs
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const SOURCE = '@octokit/openapi@23.0.2';
const MEMBER = 'package/generated/api.github.com.json';
const TARGET = fileURLToPath(new URL('../../../fixtures/github/api.github.com.json.gz', import.meta.url));

const REPO = '/repos/{owner}/{repo}';
const KEPT_PATHS = new Set([
  '/app',
  '/app/hook/config',
  '/app/hook/deliveries',
  '/app/hook/deliveries/{delivery_id}',
  '/app/hook/deliveries/{delivery_id}/attempts',
  '/app/installations',
  '/app/installations/{installation_id}',
  '/app/installations/{installation_id}/access_tokens',
  '/app-manifests/{code}/conversions',
  '/apps/{app_slug}',
  '/installation/repositories',
  '/installation/token',
  '/orgs/{org}/installation',
  '/orgs/{org}/repos',
  '/rate_limit',
  '/search/issues',
  '/user',
  '/user/repos',
  '/users/{username}',
  '/users/{username}/installation',
  REPO,
  `${REPO}/branches`,
  `${REPO}/branches/{branch}`,
  `${REPO}/check-runs`,
  `${REPO}/check-runs/{check_run_id}`,
  `${REPO}/check-runs/{check_run_id}/annotations`,
  `${REPO}/collaborators/{username}`,
  `${REPO}/collaborators/{username}/permission`,
  `${REPO}/commits`,
  `${REPO}/commits/{ref}`,
  `${REPO}/commits/{ref}/check-runs`,
  `${REPO}/commits/{ref}/status`,
  `${REPO}/commits/{ref}/statuses`,
  `${REPO}/compare/{basehead}`,
  `${REPO}/contents/{path}`,
  `${REPO}/git/blobs`,
  `${REPO}/git/blobs/{file_sha}`,
  `${REPO}/git/commits`,
  `${REPO}/git/commits/{commit_sha}`,
  `${REPO}/git/matching-refs/{ref}`,
  `${REPO}/git/ref/{ref}`,
  `${REPO}/git/refs`,
  `${REPO}/git/refs/{ref}`,
  `${REPO}/git/trees`,
  `${REPO}/git/trees/{tree_sha}`,
  `${REPO}/installation`,
  `${REPO}/issues`,
  `${REPO}/issues/comments`,
  `${REPO}/issues/comments/{comment_id}`,
  `${REPO}/issues/comments/{comment_id}/reactions`,
  `${REPO}/issues/comments/{comment_id}/reactions/{reaction_id}`,
  `${REPO}/issues/{issue_number}`,
  `${REPO}/issues/{issue_number}/assignees`,
  `${REPO}/issues/{issue_number}/comments`,
  `${REPO}/issues/{issue_number}/events`,
  `${REPO}/issues/{issue_number}/labels`,
  `${REPO}/issues/{issue_number}/labels/{name}`,
  `${REPO}/issues/{issue_number}/reactions`,
  `${REPO}/issues/{issue_number}/reactions/{reaction_id}`,
  `${REPO}/issues/{issue_number}/timeline`,
  `${REPO}/labels`,
  `${REPO}/labels/{name}`,
  `${REPO}/pulls`,
  `${REPO}/pulls/{pull_number}`,
  `${REPO}/pulls/{pull_number}/commits`,
  `${REPO}/pulls/{pull_number}/files`,
  `${REPO}/pulls/{pull_number}/merge`,
  `${REPO}/pulls/{pull_number}/requested_reviewers`,
  `${REPO}/pulls/{pull_number}/reviews`,
  `${REPO}/readme`,
  `${REPO}/statuses/{sha}`,
]);
const DROPPED_KEYS = new Set(['example', 'examples', 'externalDocs', 'x-github', 'x-octokit', 'tags']);

/** Copies a part of the description without prose and examples; names of properties are left alone. */
function bare(value, insideProperties = false) {
  if (Array.isArray(value)) return value.map((entry) => bare(entry));
  if (value === null || typeof value !== 'object') return value;
  const copy = {};
  for (const [key, entry] of Object.entries(value)) {
    if (!insideProperties && DROPPED_KEYS.has(key)) continue;
    if (!insideProperties && key === 'description' && typeof entry === 'string') continue;
    copy[key] = bare(entry, !insideProperties && key === 'properties');
  }
  return copy;
}

/** Adds to `found` every component that `value` refers to, directly or through other components. */
function collectReferences(value, components, found) {
  if (Array.isArray(value)) {
    for (const entry of value) collectReferences(entry, components, found);
    return;
  }
  if (value === null || typeof value !== 'object') return;
  const reference = value.$ref;
  if (typeof reference === 'string' && !found.has(reference)) {
    found.add(reference);
    const [, , group, name] = reference.split('/');
    collectReferences(components[group][name], components, found);
  }
  for (const entry of Object.values(value)) collectReferences(entry, components, found);
}

function prune(whole) {
  const paths = {};
  for (const path of KEPT_PATHS) {
    if (!whole.paths[path]) throw new Error(`${SOURCE} has no path ${path}`);
    paths[path] = bare(whole.paths[path]);
  }
  const stripped = bare(whole.components);
  const found = new Set();
  collectReferences(paths, stripped, found);
  const components = {};
  for (const reference of [...found].sort()) {
    const [, , group, name] = reference.split('/');
    components[group] ??= {};
    components[group][name] = stripped[group][name];
  }
  return {
    openapi: whole.openapi,
    info: { title: whole.info.title, version: whole.info.version },
    paths,
    components,
  };
}

const folder = mkdtempSync(join(tmpdir(), 'hasten-openapi-'));
try {
  const [{ filename }] = JSON.parse(
    execFileSync('npm', ['pack', SOURCE, '--json', '--pack-destination', folder], { encoding: 'utf8' }),
  );
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', folder, MEMBER]);
  const pruned = prune(JSON.parse(readFileSync(join(folder, MEMBER), 'utf8')));
  const packed = gzipSync(JSON.stringify(pruned), { level: 9 });
  writeFileSync(TARGET, packed);
  console.log(`${TARGET}: ${Object.keys(pruned.paths).length} paths, ${packed.length} bytes`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
