// Acts as a seeded person through the public REST API of the emulated GitHub, so that its webhooks fire.
import { asObject, asObjects, type Json, type JsonObject, numberAt, parseJson, textAt } from './json.js';
import { tokenOf } from './seed.js';

export interface RestAnswer {
  readonly status: number;
  readonly json: Json | undefined;
  readonly headers: Headers;
}

export class People {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Any REST call as this person; does not reject for an error status. */
  async call(login: string, method: string, path: string, body?: Json): Promise<RestAnswer> {
    const answer = await fetch(`${this.#url}${path}`, {
      method,
      headers: { authorization: `token ${tokenOf(login)}`, accept: 'application/vnd.github+json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, json: parseJson(await answer.text()), headers: answer.headers };
  }

  /** Opens an issue; gives its number. */
  async openIssue(
    login: string,
    fullName: string,
    issue: { title: string; body?: string; labels?: readonly string[] },
  ): Promise<number> {
    const body: JsonObject = {
      title: issue.title,
      body: issue.body ?? '',
      labels: [...(issue.labels ?? [])],
    };
    return numberAt(await this.#must(login, 'POST', `/repos/${fullName}/issues`, body), 'number');
  }

  /** Puts a label on an issue or pull request, making the label when it does not exist. */
  async addLabel(login: string, fullName: string, number: number, label: string): Promise<void> {
    await this.#must(login, 'POST', `/repos/${fullName}/issues/${number}/labels`, { labels: [label] });
  }

  async removeLabel(login: string, fullName: string, number: number, label: string): Promise<void> {
    const name = encodeURIComponent(label);
    await this.#must(login, 'DELETE', `/repos/${fullName}/issues/${number}/labels/${name}`);
  }

  /** Comments on an issue or pull request; gives the comment's id. */
  async comment(login: string, fullName: string, number: number, text: string): Promise<number> {
    const path = `/repos/${fullName}/issues/${number}/comments`;
    return numberAt(await this.#must(login, 'POST', path, { body: text }), 'id');
  }

  async editComment(login: string, fullName: string, id: number, text: string): Promise<void> {
    await this.#must(login, 'PATCH', `/repos/${fullName}/issues/comments/${id}`, { body: text });
  }

  async deleteComment(login: string, fullName: string, id: number): Promise<void> {
    await this.#must(login, 'DELETE', `/repos/${fullName}/issues/comments/${id}`);
  }

  async editIssue(login: string, fullName: string, number: number, changes: JsonObject): Promise<void> {
    await this.#must(login, 'PATCH', `/repos/${fullName}/issues/${number}`, changes);
  }

  async closeIssue(login: string, fullName: string, number: number): Promise<void> {
    await this.editIssue(login, fullName, number, { state: 'closed' });
  }

  /** Opens a pull request; gives its number. */
  async openPull(
    login: string,
    fullName: string,
    pull: { title: string; head: string; base: string; body?: string; draft?: boolean },
  ): Promise<number> {
    return numberAt(await this.#must(login, 'POST', `/repos/${fullName}/pulls`, { ...pull }), 'number');
  }

  /** Merges a pull request; gives the SHA of the merge. */
  async mergePull(login: string, fullName: string, number: number): Promise<string> {
    return textAt(await this.#must(login, 'PUT', `/repos/${fullName}/pulls/${number}/merge`, {}), 'sha');
  }

  async closePull(login: string, fullName: string, number: number): Promise<void> {
    await this.#must(login, 'PATCH', `/repos/${fullName}/pulls/${number}`, { state: 'closed' });
  }

  /** Commits one file to a branch through the API; gives the commit's SHA. */
  async commitFile(
    login: string,
    fullName: string,
    file: { path: string; content: string; branch: string; message?: string },
  ): Promise<string> {
    const path = `/repos/${fullName}/contents/${encodeURI(file.path)}`;
    const existing = await this.call(login, 'GET', `${path}?ref=${encodeURIComponent(file.branch)}`);
    const sha = existing.status === 200 ? { sha: textAt(existing.json, 'sha') } : {};
    const body = {
      message: file.message ?? `Change ${file.path}`,
      content: Buffer.from(file.content, 'utf8').toString('base64'),
      branch: file.branch,
      ...sha,
    };
    return textAt(await this.#must(login, 'PUT', path, body), 'commit', 'sha');
  }

  /** Makes a branch at a commit. */
  async createBranch(login: string, fullName: string, branch: string, sha: string): Promise<void> {
    await this.#must(login, 'POST', `/repos/${fullName}/git/refs`, { ref: `refs/heads/${branch}`, sha });
  }

  async deleteBranch(login: string, fullName: string, branch: string): Promise<void> {
    await this.#must(login, 'DELETE', `/repos/${fullName}/git/refs/heads/${branch}`);
  }

  /** Comments of an issue as this person sees them. */
  async readComments(login: string, fullName: string, number: number): Promise<JsonObject[]> {
    return asObjects(
      await this.#must(login, 'GET', `/repos/${fullName}/issues/${number}/comments?per_page=100`),
    );
  }

  async #must(login: string, method: string, path: string, body?: Json): Promise<Json | undefined> {
    const answer = await this.call(login, method, path, body);
    if (answer.status < 300) return answer.json;
    const detail = JSON.stringify(asObject(answer.json).errors ?? '');
    throw new Error(
      `${method} ${path} as ${login}: ${answer.status} ${textAt(answer.json, 'message')} ${detail}`,
    );
  }
}
