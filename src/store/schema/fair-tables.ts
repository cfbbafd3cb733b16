// The tables of queues, freezes, slots, fair keys and calendars, for Kysely's builder; see tables.ts.
import type { Json } from '../../model/job/job.js';
import type { Bigint, Defaulted, Float, Jsonb, Jsonpath, Timestamp } from './column-types.js';

export interface JobQueues {
  name: string;
  concurrency: number | null;
  rate_count: number | null;
  rate_period_ms: Bigint | null;
  rate_next_at: Timestamp | null;
  active_window: string | null;
  timezone: Defaulted<string>;
  paused_at: Timestamp | null;
  paused_until: Timestamp | null;
  pause_reason: string | null;
  closed_until: Timestamp | null;
  relayed_to: string | null;
  in_code: Jsonb<Json> | null;
  overrides: Defaulted<Jsonb<Json>>;
  override_ends_at: Timestamp | null;
  created_at: Defaulted<Timestamp>;
  updated_at: Defaulted<Timestamp>;
}

export interface Freezes {
  id: Defaulted<Bigint>;
  began_at: Defaulted<Timestamp>;
  until: Timestamp;
  ramp_ms: Defaulted<Bigint>;
  note: string;
  operator: Defaulted<string>;
  ended_at: Timestamp | null;
}

export interface JobSlots {
  concurrency_key: string;
  slot: number;
  run_id: Bigint;
  fence: number;
}

export interface FairScopes {
  queue: Defaulted<string>;
  job: Defaulted<string>;
  path: Jsonpath;
  slot_limit: number | null;
  rate_count: number | null;
  rate_period_ms: Bigint | null;
  rate_burst: number | null;
  is_strict: Defaulted<boolean>;
}

export interface JobLimits {
  job: string;
  slot_limit: number | null;
}

export interface KeySettings {
  key: string;
  weight: Defaulted<Float>;
  slot_limit: number | null;
  rate_count: number | null;
  rate_period_ms: Bigint | null;
  rate_burst: number | null;
}

export interface FairKeys {
  name: string;
  queue: string;
  job: string;
  key: string;
  tag: Defaulted<Float>;
  arrivals: Defaulted<Bigint>;
  is_ready: Defaulted<boolean>;
  ready_at: Timestamp | null;
  rate_next_at: Timestamp | null;
  closed_until: Timestamp | null;
  held_on: string | null;
}

/** Dates that definitions leave out, by name. */
export interface JobCalendars {
  name: string;
  dates: Defaulted<Jsonb<Json>>;
  version: Defaulted<number>;
  created_at: Defaulted<Timestamp>;
  updated_at: Defaulted<Timestamp>;
}
