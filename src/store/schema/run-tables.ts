// The tables of occurrences, of runs that are handed off or offered, of what starts when the live run of a
// key ends, and of the versions and zones of definitions, for Kysely's builder; see tables.ts.
import type { ExceptionKind } from '../../model/planning/exceptions.js';
import type { HandOffDecision } from '../../model/run/hand-off-record.js';
import type { Trigger } from '../../model/run/states.js';
import type { OffsetTable } from '../../model/schedule/zone/offset-table.js';
import type { Bigint, Defaulted, Jsonb, Timestamp, Uuid } from './column-types.js';

export interface JobHandOffs {
  run_id: Bigint;
  fence: number;
  created_at: Defaulted<Timestamp>;
  handed_off_at: Timestamp | null;
  handed_to: string | null;
  worker_id: Uuid | null;
  due_at: Timestamp | null;
  lease_until: Timestamp | null;
  decided_at: Timestamp | null;
  decision: HandOffDecision | null;
  output: Jsonb | null;
  error: Jsonb | null;
  retry_at: Timestamp | null;
  written_at: Timestamp | null;
  refused_count: Defaulted<number>;
  refused_at: Timestamp | null;
}

export interface JobOffers {
  id: Defaulted<Bigint>;
  queue: string;
  priority: number;
  run_id: Bigint;
  fence: number;
  payload: Jsonb | null;
  created_at: Defaulted<Timestamp>;
}

export interface QueueRoles {
  queue: string;
  role: string;
}

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
  tags: string[] | null;
  keeps_changes: boolean | null;
}

export interface JobOccurrences {
  definition_id: Bigint;
  scheduled_for: Timestamp;
  run_id: Bigint;
  created_at: Defaulted<Timestamp>;
}

export interface JobExceptions {
  definition_id: Bigint;
  scheduled_for: Timestamp;
  kind: ExceptionKind;
  due_at: Timestamp;
  note: string | null;
  operator: Defaulted<string>;
  created_at: Defaulted<Timestamp>;
}

export interface DefinitionVersions {
  definition_id: Bigint;
  number: number;
  change: string;
  version: number;
  since: Timestamp;
  left_count: number | null;
  stop: string | null;
  void_until: Bigint | null;
  stated: Jsonb;
  written_at: Defaulted<Timestamp>;
}

export interface Registrations {
  service: Defaulted<string>;
  fingerprint: string;
  is_current: boolean;
  first_seen_at: Defaulted<Timestamp>;
  seen_at: Defaulted<Timestamp>;
  in_force_at: Defaulted<Timestamp>;
  queues: Defaulted<string[]>;
  fair_jobs: Defaulted<string[]>;
}

export interface Zones {
  timezone: string;
  zone_data: string;
  offsets: Jsonb<OffsetTable>;
  previous_data: string | null;
  previous: Jsonb<OffsetTable> | null;
  moved_count: Bigint | null;
  moved_at: Timestamp | null;
  noted_at: Defaulted<Timestamp>;
}

export interface JobKeys {
  idempotency_key: string;
  run_id: Bigint;
  created_at: Defaulted<Timestamp>;
}

export interface JobEffects {
  key: string;
  run_id: Bigint;
  result: Jsonb | null;
  created_at: Defaulted<Timestamp>;
}
