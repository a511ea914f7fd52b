/** How a step of the evaluation says no: thrown inside the station, turned into EVALUATION_FAILED at its edge. */
import { UserError } from '../domain/errors.js';

/** The patch (or the base it stands on) did not pass a step; `evidence` is bounded text for recovering. */
export class StepFailed extends UserError {
  readonly evidence: string;

  constructor(details: { readonly code: string; readonly message: string; readonly evidence: string }) {
    super(details);
    this.evidence = details.evidence;
  }
}
