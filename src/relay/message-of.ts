// The message of an attempt.
import type { Json } from '../model/job/job.js';
import type { ClaimedRun } from '../store/runs/claim/claimed-run.js';
import { PROTOCOL, type RelayMessage } from './messages.js';

const iso = (ms: number) => new Date(ms).toISOString();
const isoOrNull = (ms: number | null) => (ms === null ? null : iso(ms));

/** @param publishedMs by the database's clock */
export function messageOf(
  run: ClaimedRun,
  {
    queue,
    payload,
    leaseMs,
    publishedMs,
  }: {
    readonly queue: string;
    readonly payload: Json;
    readonly leaseMs: number;
    readonly publishedMs: number;
  },
): RelayMessage {
  return {
    tock: PROTOCOL,
    run: run.id,
    fence: run.fence,
    job: run.job,
    queue,
    definition: run.definition,
    attempt: run.attempts,
    maxAttempts: run.max_attempts,
    trigger: run.trigger,
    scheduledFor: isoOrNull(run.scheduled_for),
    intervalStart: isoOrNull(run.interval_start),
    occurrenceCount: run.occurrence_count,
    idempotencyKey: run.idempotency_key,
    payload,
    leaseMs,
    publishedAt: iso(publishedMs),
    traceparent: run.trace?.traceparent ?? null,
  };
}

/** The queue of a broker to which a queue's messages go, for people and for figures. */
export const receiverOf = (broker: { readonly name: string; readonly prefix?: string }, queue: string) =>
  `${broker.name}: ${broker.prefix ?? 'tock'}.work.${queue}`;
