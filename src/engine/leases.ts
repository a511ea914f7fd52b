/** Leases with fencing: whoever works on a repository holds its row, and every later write proves that it still does. */
import { BugError } from '../domain/errors.js';
import type { RepositoryRef } from '../domain/repository.js';
import { initialSnapshot, type MachineSnapshot, stateOf } from '../machine/advance.js';
import { MACHINE_VERSION } from '../machine/repository-machine.js';
import type { Database, Transaction } from '../store/database.js';

/** A lease that is not renewed for this long may be taken by another process. */
export const LEASE_MS = 30_000;

export interface HeldRepository {
  readonly repository: RepositoryRef;
  readonly fence: number;
  readonly rev: number;
  readonly runId: string | null;
  readonly snapshot: MachineSnapshot;
}

interface RepositoryRow {
  readonly reference: string;
  readonly lease_owner: string | null;
  readonly lease_until: number;
  readonly fence: number;
  readonly rev: number;
  readonly run_id: string | null;
  readonly machine_version: number;
  readonly snapshot: string;
}

/** `owner` is random per process, so that a restarted service is never taken for its dead predecessor. */
export class Leases {
  constructor(
    private readonly database: Database,
    readonly owner: string,
  ) {}

  /** Takes every lease over at once; only for the process that holds the lock of the data folder. */
  async takeAll(at: number): Promise<void> {
    await this.database.tx((tx) =>
      tx.run('update repository set lease_owner = ?, fence = fence + 1, lease_until = ?', [
        this.owner,
        at + LEASE_MS,
      ]),
    );
  }

  /** Extends all leases held; returns how many those are. */
  async renew(at: number): Promise<number> {
    const { changes } = await this.database.tx((tx) =>
      tx.run('update repository set lease_until = ? where lease_owner = ?', [at + LEASE_MS, this.owner]),
    );
    return changes;
  }

  /** Adds a repository that is seen for the first time, or refreshes what is known of it (a rename, another default branch). */
  async introduce(tx: Transaction, repository: RepositoryRef, at: number): Promise<void> {
    const snapshot = initialSnapshot();
    await tx.run(
      `insert into repository (repository_id, reference, machine_version, snapshot, state, updated_at)
       values (?, ?, ?, ?, ?, ?) on conflict (repository_id) do update set reference = excluded.reference`,
      [
        repository.id,
        JSON.stringify(repository),
        MACHINE_VERSION,
        JSON.stringify(snapshot),
        stateOf(snapshot),
        at,
      ],
    );
  }

  /** The row under this process's lease, taking a free or run-out one; null when another process holds it or it is unknown. */
  async hold(tx: Transaction, repositoryId: string, at: number): Promise<HeldRepository | null> {
    await tx.run(
      `update repository set lease_owner = ?, fence = fence + 1, lease_until = ?
       where repository_id = ? and (lease_owner is null or (lease_owner <> ? and lease_until < ?))`,
      [this.owner, at + LEASE_MS, repositoryId, this.owner, at],
    );
    const row = await tx.get<RepositoryRow>(
      `select reference, lease_owner, lease_until, fence, rev, run_id, machine_version, snapshot
       from repository where repository_id = ?`,
      [repositoryId],
    );
    if (row === undefined || row.lease_owner !== this.owner) return null;
    return {
      repository: JSON.parse(row.reference) as RepositoryRef,
      fence: row.fence,
      rev: row.rev,
      runId: row.run_id,
      snapshot: readSnapshot(row),
    };
  }
}

/** Snapshots are ours; the version guards against reading one of another form. */
function readSnapshot(row: RepositoryRow): MachineSnapshot {
  if (row.machine_version !== MACHINE_VERSION) {
    throw new BugError({
      code: 'MACHINE_VERSION_UNKNOWN',
      message: `A snapshot has machine version ${row.machine_version}, this Hasten knows ${MACHINE_VERSION}; start the version that wrote it.`,
    });
  }
  return JSON.parse(row.snapshot) as MachineSnapshot;
}
