// Git over HTTP on the front's address: authorises like GitHub, then lets `git http-backend` speak the protocol.
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { type Answer, failure, notFound } from './answer.js';
import type { Front } from './front.js';
import { uploadPush } from './git-push.js';
import { reaches } from './permissions.js';
import { covers, granted, type Principal } from './principals.js';

export interface GitRequest {
  readonly method: string;
  readonly fullName: string;
  /** `info/refs`, `git-upload-pack` or `git-receive-pack`. */
  readonly service: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  readonly principal: Principal;
}

const GIT_PATH = /^\/([^/]+)\/([^/]+?)(?:\.git)?\/(info\/refs|git-upload-pack|git-receive-pack)$/;
let backendPath: string | undefined;

/** Repository and service of a git path; undefined for every other path. */
export function parseGitPath(path: string): { fullName: string; service: string } | undefined {
  const match = GIT_PATH.exec(path);
  if (match === null) return undefined;
  return { fullName: `${match[1]}/${match[2]}`, service: match[3] ?? '' };
}

/** Answers one git request; a push is in emulate when the answer is given. */
export async function serveGit(front: Front, request: GitRequest): Promise<Answer> {
  const isPush = request.service === 'git-receive-pack' || /git-receive-pack/.test(request.query);
  const refusal = await refuse(front, request, isPush);
  if (refusal !== undefined) return refusal;
  const { fullName, principal } = request;
  return front.mirror.exclusively(fullName, async () => {
    await front.mirror.pull(fullName);
    const answer = await runBackend(front.mirror.root, request);
    if (request.service !== 'git-receive-pack' || !('token' in principal)) return answer;
    const problem = await uploadPush(front.mirror, front.backend, fullName, principal.token);
    return problem === undefined ? answer : failure(403, problem);
  });
}

async function refuse(front: Front, request: GitRequest, isPush: boolean): Promise<Answer | undefined> {
  const { principal, fullName } = request;
  if (principal.kind === 'invalid' || principal.kind === 'app') return unauthorized();
  const repository = await front.repository(fullName);
  if (principal.kind === 'anonymous') {
    return repository === undefined || repository.isPrivate || isPush ? unauthorized() : undefined;
  }
  if (repository === undefined) return notFound();
  if (principal.kind === 'installation') {
    const covered = covers(principal, fullName);
    const readable = covered ? granted(principal, 'contents', 'read') : false;
    if (repository.isPrivate && !covered) return notFound();
    if (repository.isPrivate && !readable) return denied(fullName);
    return isPush && !(covered && granted(principal, 'contents', 'write')) ? denied(fullName) : undefined;
  }
  const level = front.permissions.levelOf(fullName, repository.isPrivate, principal.login);
  if (level === 'none') return notFound();
  return isPush && !reaches(level, 'push') ? denied(fullName) : undefined;
}

function unauthorized(): Answer {
  return {
    ...failure(401, 'Requires authentication'),
    headers: { 'www-authenticate': 'Basic realm="GitHub"' },
  };
}

function denied(fullName: string): Answer {
  return failure(403, `Permission to ${fullName}.git denied.`);
}

function runBackend(root: string, request: GitRequest): Promise<Answer> {
  backendPath ??= join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');
  const program = backendPath;
  const { headers, principal } = request;
  const user = 'token' in principal ? 'authenticated' : '';
  return new Promise((resolve, reject) => {
    const child = spawn(program, [], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        HOME: root,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: `/${request.fullName}.git/${request.service}`,
        QUERY_STRING: request.query,
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: headers['content-type'] ?? '',
        CONTENT_LENGTH: String(request.body.length),
        HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
        GIT_PROTOCOL: headers['git-protocol'] ?? '',
        REMOTE_USER: user,
        GIT_COMMITTER_NAME: 'rig',
        GIT_COMMITTER_EMAIL: 'rig@example.test',
      },
    });
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    child.stdin.on('error', () => undefined);
    child.on('error', reject);
    child.on('close', () => {
      const bytes = Buffer.concat(output);
      if (bytes.length === 0)
        reject(new Error(`git http-backend: ${Buffer.concat(errors).toString('utf8')}`));
      else resolve(parseCgi(bytes));
    });
    child.stdin.end(request.body);
  });
}

function parseCgi(bytes: Buffer): Answer {
  const border = bytes.indexOf('\r\n\r\n');
  const headers: Record<string, string> = {};
  let status = 200;
  for (const line of bytes.toString('utf8', 0, border).split('\r\n')) {
    const colon = line.indexOf(':');
    const [name, value] = [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    if (name === 'status') status = Number.parseInt(value, 10);
    else headers[name] = value;
  }
  return { status, headers, body: bytes.subarray(border + 4) };
}
