// The tables of figures of ended runs, for `Schema` in tables.ts.
import type { Bigint, Defaulted, Timestamp } from './column-types.js';

export interface FiguresByMinute {
  at: Timestamp;
  job: string;
  queue: string;
  status: string;
  reason: string;
  run_count: Bigint;
  occurrence_count: Bigint;
  duration_us: Bigint;
  wait_us: Bigint;
  durations: number[] | null;
  waits: number[] | null;
}

export interface FiguresTotal {
  job: string;
  queue: string;
  status: string;
  reason: string;
  last_at: Timestamp;
  run_count: Bigint;
  occurrence_count: Bigint;
  duration_us: Bigint;
  wait_us: Bigint;
  durations: Bigint[] | null;
  waits: Bigint[] | null;
}

export interface FiguresProgress {
  is_only: Defaulted<boolean>;
  final_until: Timestamp;
  counted_until: Timestamp;
  hours_until: Timestamp;
  watched_until: Timestamp | null;
  writers: Defaulted<string[]>;
}

export interface FiguresRetried {
  run_id: Bigint;
  generation: number;
  finished_at: Timestamp;
  job: string;
  queue: string;
  status: string;
  skip_reason: string | null;
  occurrence_count: number;
  run_at: Timestamp;
  started_at: Timestamp | null;
}

/** Versions of the app, which charts of figures show. */
export interface Deploys {
  name: string;
  code: string;
  first_seen_at: Timestamp | null;
  marked_at: Timestamp | null;
  marked_by: string | null;
  note: string | null;
}
