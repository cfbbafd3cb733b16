// What a relay and a consumer say to each other: one message for each attempt, and answers. docs/relay.md is
// the protocol, for other languages.
import type { Json } from '../model/job/job.js';

/** The version of the protocol, in the member `tock` of each message and answer. */
export const PROTOCOL = 1;

/** One attempt of a run, for a consumer: the JSON body of a broker's message. Times are ISO 8601, in UTC. */
export interface RelayMessage {
  readonly tock: typeof PROTOCOL;
  /** Id of the run: a bigint, as text. With `fence`, what each answer must name. */
  readonly run: string;
  /** Grows with each attempt: an answer under an older one changes nothing. */
  readonly fence: number;
  readonly job: string;
  readonly queue: string;
  /** Name of the definition; null for a one-off run. */
  readonly definition: string | null;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly trigger: string;
  readonly scheduledFor: string | null;
  readonly intervalStart: string | null;
  readonly occurrenceCount: number;
  readonly idempotencyKey: string | null;
  readonly payload: Json;
  /** How long the consumer has until its first answer, in milliseconds, counted from `publishedAt`. */
  readonly leaseMs: number;
  /** When it was published, by the database's clock. */
  readonly publishedAt: string;
  /** W3C trace context of the enqueuing call; null: it was not traced. */
  readonly traceparent: string | null;
}

/** The broker's message id: `<run>.<fence>`. */
export const messageId = ({ run, fence }: Pick<RelayMessage, 'run' | 'fence'>) => `${run}.${fence}`;

/** What each answer names: the attempt. */
export interface Answer {
  readonly tock: typeof PROTOCOL;
  readonly run: string;
  readonly fence: number;
}

/** The run has succeeded. `result`: its output, at most 1 MiB of JSON. */
export interface SucceededAnswer extends Answer {
  readonly kind: 'succeeded';
  readonly result?: Json;
}

/** The attempt has failed: it is tried again while attempts are left, or, if `retry` is false, it is dead. */
export interface FailedAnswer extends Answer {
  readonly kind: 'failed';
  readonly message: string;
  /** Default true. */
  readonly retry?: boolean;
  /** When to try again, ISO 8601. Default: by the job's backoff. */
  readonly retryAt?: string;
  readonly name?: string;
  readonly code?: string;
  readonly stack?: string;
}

/** The consumer is still at work: its lease ends this long from now at the earliest. */
export interface ExtendAnswer extends Answer {
  readonly kind: 'extend';
  /** 1,000 to 366 days. */
  readonly leaseMs: number;
}

/** How far it is: 0 to 1, and a word for the stage. */
export interface ProgressAnswer extends Answer {
  readonly kind: 'progress';
  readonly fraction: number;
  readonly stage?: string;
}

/** What a consumer says of an attempt: the JSON body of a message to the relay. */
export type RelayAnswer = SucceededAnswer | FailedAnswer | ExtendAnswer | ProgressAnswer;
