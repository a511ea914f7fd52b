/** How a step of the evaluation says no: thrown inside the station, turned into EVALUATION_FAILED at its edge. */
import { UserError } from '../domain/errors.js';
import type { Measurement } from '../domain/evaluation.js';

/** The patch (or the base it stands on) did not pass a step; `evidence` is bounded text for recovering. */
export class StepFailed extends UserError {
  readonly evidence: string;
  /** The measurement that was not good enough, where it came that far. */
  readonly measurement: Measurement | null;

  constructor(details: {
    readonly code: string;
    readonly message: string;
    readonly evidence: string;
    readonly measurement?: Measurement;
  }) {
    super(details);
    this.evidence = details.evidence;
    this.measurement = details.measurement ?? null;
  }
}
