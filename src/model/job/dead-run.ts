// What the job that `onDead` names is given.

import type { ErrorEntry } from '../run/sanitize.js';
import type { Stored } from './payload/json.js';
import type { StandardSchemaV1 } from './payload/standard-schema.js';

/** How `onDead` names a job. */
export type OnDeadReference = string | { readonly name: string };

/** The payload of the job that `onDead` names: the run that died. */
export interface DeadRun<Payload = unknown> {
  /** Its id. */
  run: string;
  job: string;
  /** Null for a one-off run. */
  definition: string | null;
  /** ISO text in UTC; null for a one-off run. */
  scheduledFor: string | null;
  /** As it was stored: also one that its job has refused. */
  payload: Payload;
  /** The last five, the latest last. */
  errors: ErrorEntry[];
}

/**
 * A job by object, if its payload takes the dead runs of a job with this payload (without a schema it may be
 * any); and any other reference.
 */
export type OnDeadFor<Reference, Payload> = Reference extends {
  readonly kind: 'tock.job';
  readonly payload?: infer Schema extends StandardSchemaV1;
}
  ? // biome-ignore lint/suspicious/noExplicitAny: nothing is known about it
    // oxlint-disable-next-line typescript/no-explicit-any
    DeadRun<unknown extends Payload ? any : Stored<Payload>> extends StandardSchemaV1.InferInput<Schema>
    ? Reference
    : {
        readonly name: 'the payload of this job has to take a DeadRun: { run, job, definition, scheduledFor, payload, errors }';
      }
  : Reference;
