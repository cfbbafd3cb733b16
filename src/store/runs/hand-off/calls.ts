// What completes a run that was handed off: the functions of the schema, which any language may call.
import { statement } from '../../connection/statement.js';

/** A run, and the fence under which it was handed off. */
export interface HandedRun {
  readonly id: string;
  readonly fence: number;
}

/** False: it came too late, and changed nothing. */
interface Answer {
  readonly held: boolean;
}

/** `result`: JSON. */
export const complete = statement<HandedRun & { readonly result: string | null }, Answer>(
  'complete',
  'select tock.complete(:id::bigint, :fence::integer, :result::jsonb) as held',
);

export interface Failing extends HandedRun {
  readonly message: string;
  readonly isRetried: boolean;
  readonly retryAt: string | null;
  /** JSON. */
  readonly details: string | null;
}

export const fail = statement<Failing, Answer>(
  'fail-handed-off',
  'select tock.fail(:id::bigint, :fence::integer, :message::text, :isRetried::boolean, :retryAt::timestamptz, :details::jsonb) as held',
);

export const extend = statement<HandedRun & { readonly leaseMs: number }, Answer>(
  'extend',
  `select tock.extend(:id::bigint, :fence::integer, :leaseMs::float8 * interval '1 millisecond') as held`,
);

export const progress = statement<
  HandedRun & { readonly fraction: number; readonly stage: string | null },
  Answer
>('progress', 'select tock.progress(:id::bigint, :fence::integer, :fraction::float8, :stage::text) as held');
