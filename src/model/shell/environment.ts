// The environment variables by which a command knows its run.
import { TockError } from '../errors.js';

/** What a command is passed of its run. */
export interface CommandRun {
  readonly runId: string;
  readonly job: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly fence: number;
  readonly trigger: string;
  readonly idempotencyKey: string | null;
  readonly scheduledFor: Date | null;
  readonly dataInterval: { readonly start: Date; readonly end: Date } | null;
}

/** Linux takes no longer text as one variable. */
const MAX_BYTES = 128 * 1024 - 20;

/**
 * Variables with an empty text are set too, so that `set -u` in a script does no harm.
 * @param payload as JSON
 * @param isPayloadOptional leaves out one that is too long, as it is also passed otherwise
 * @throws TockError TOCK_BAD_PAYLOAD
 */
export function runVariables(
  run: CommandRun,
  payload: string,
  isPayloadOptional = false,
): Record<string, string> {
  const isTooLong = Buffer.byteLength(payload) > MAX_BYTES;
  if (isTooLong && !isPayloadOptional) {
    throw new TockError(
      'TOCK_BAD_PAYLOAD',
      `the payload of ${Buffer.byteLength(payload)} bytes is too long for the variable TOCK_PAYLOAD: pass it as stdin (stdin: payload => JSON.stringify(payload)), or store it and pass its id`,
    );
  }
  return {
    TOCK_RUN_ID: run.runId,
    TOCK_JOB: run.job,
    TOCK_ATTEMPT: String(run.attempt),
    TOCK_MAX_ATTEMPTS: String(run.maxAttempts),
    TOCK_FENCE: String(run.fence),
    TOCK_TRIGGER: run.trigger,
    TOCK_KEY: run.idempotencyKey ?? '',
    TOCK_SCHEDULED_FOR: isoText(run.scheduledFor),
    TOCK_INTERVAL_START: isoText(run.dataInterval?.start),
    TOCK_INTERVAL_END: isoText(run.dataInterval?.end),
    TOCK_PAYLOAD: isTooLong ? '' : payload,
  };
}

function isoText(at: Date | null | undefined): string {
  return at?.toISOString() ?? '';
}
