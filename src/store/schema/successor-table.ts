// The table of what starts when the live run of a key ends, for Kysely's builder; see tables.ts.
import type { Trigger } from '../../model/run/states.js';
import type { Bigint, Defaulted, Jsonb, Timestamp } from './column-types.js';

export interface JobSuccessors {
  live_key: string;
  run_id: Bigint;
  job: string;
  payload: Jsonb | null;
  run_at: Timestamp;
  queue: string;
  priority: number;
  max_attempts: number;
  trigger: Trigger;
  slot_keys: string[] | null;
  slot_limits: number[] | null;
  traceparent: string | null;
  created_at: Defaulted<Timestamp>;
}
