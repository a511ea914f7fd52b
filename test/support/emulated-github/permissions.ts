// What a person may do on a repository; emulate takes every organisation member for an administrator.
import type { CollaboratorLevel, EmulatedGitHubSeed } from './seed.js';

export type Level = CollaboratorLevel | 'none';

const ORDER: readonly Level[] = ['none', 'pull', 'triage', 'push', 'maintain', 'admin'];

export class Permissions {
  readonly #seed: EmulatedGitHubSeed;
  readonly #collaborators = new Map<string, Map<string, CollaboratorLevel>>();

  constructor(seed: EmulatedGitHubSeed) {
    this.#seed = seed;
  }

  /** Makes a person a collaborator of a repository, or changes the level. */
  grant(fullName: string, login: string, level: CollaboratorLevel): void {
    const people = this.#collaborators.get(fullName) ?? new Map<string, CollaboratorLevel>();
    people.set(login, level);
    this.#collaborators.set(fullName, people);
  }

  /** Removes a collaborator. */
  withdraw(fullName: string, login: string): void {
    this.#collaborators.get(fullName)?.delete(login);
  }

  /** The level of a person on a repository; everybody may read a public one. */
  levelOf(fullName: string, isPrivate: boolean, login: string): Level {
    const account = fullName.split('/')[0] ?? '';
    if (account === login) return 'admin';
    const organization = this.#seed.organizations.find((entry) => entry.login === account);
    if (organization?.admins.includes(login)) return 'admin';
    const collaborator = this.#collaborators.get(fullName)?.get(login);
    if (collaborator !== undefined) return collaborator;
    if (organization?.members?.includes(login)) return 'pull';
    return isPrivate ? 'none' : 'pull';
  }

  /** A login with full rights on everything the account owns: the account itself or an organisation's administrator. */
  ownerOf(account: string): string {
    const organization = this.#seed.organizations.find((entry) => entry.login === account);
    return organization?.admins[0] ?? account;
  }
}

/** True when a level is at least another one. */
export function reaches(level: Level, wanted: Level): boolean {
  return ORDER.indexOf(level) >= ORDER.indexOf(wanted);
}

/** The level in the words of `GET …/collaborators/{username}/permission`. */
export function asPermission(level: Level): { permission: string; role_name: string } {
  const permission = {
    none: 'none',
    pull: 'read',
    triage: 'read',
    push: 'write',
    maintain: 'write',
    admin: 'admin',
  };
  const role = {
    none: 'none',
    pull: 'read',
    triage: 'triage',
    push: 'write',
    maintain: 'maintain',
    admin: 'admin',
  };
  return { permission: permission[level], role_name: role[level] };
}
