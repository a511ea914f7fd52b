/** The three containers of a measurement: opened together, renewed for a confirmation, always closed. */
import type { MeasurementArm, Sandbox, Workspace } from '../domain/sandbox.js';
import { allSettled } from './all-settled.js';
import type { ArmName } from './observers/benchmark-observer.js';

export type Arms = Readonly<Record<ArmName, MeasurementArm>>;

export interface ArmSession {
  /** Closes what is open and opens three fresh containers. */
  renew(): Promise<Arms>;
  /** Closes what is open; never throws. */
  close(): Promise<void>;
}

/** Nothing is opened before `renew`. Throws what `Sandbox.openArm` throws; nothing stays open then. */
export function createArmSession(
  sandbox: Sandbox,
  workspaces: Readonly<Record<ArmName, Workspace>>,
  cpuset: string,
  signal: AbortSignal,
): ArmSession {
  let opened: MeasurementArm[] = [];
  const open = async (workspace: Workspace) => {
    const arm = await sandbox.openArm(workspace, { cpuset }, signal);
    opened.push(arm);
    return arm;
  };
  const close = async () => {
    const closing = opened;
    opened = [];
    await Promise.allSettled(closing.map((arm) => arm.close()));
  };
  return {
    async renew() {
      await close();
      const [base, patch, copy] = await allSettled([
        open(workspaces.base),
        open(workspaces.patch),
        open(workspaces.copy),
      ]);
      return { base, patch, copy };
    },
    close,
  };
}
