// The tables of what runs wait for, of the outbox, and of changes, for Kysely's builder; see tables.ts.
import type { ChangeKind } from '../../model/changes/change.js';
import type { WaitKind, WaitOutcome } from '../../model/run/run-wait.js';
import type { Bigint, Defaulted, Jsonb, Timestamp, Xid8 } from './column-types.js';

export type OutboxKind = 'chain' | 'dead' | 'end' | 'wait' | 'interval' | 'event' | 'fair';

export interface JobOutbox {
  id: Defaulted<Bigint>;
  kind: OutboxKind;
  run_id: Bigint | null;
  event_id: Bigint | null;
  fair_keys: string[] | null;
  run_ids: Bigint[] | null;
  generation: Defaulted<number>;
  definition_id: Bigint | null;
  scheduled_for: Timestamp | null;
  created_at: Defaulted<Timestamp>;
}

export interface JobEvents {
  id: Defaulted<Bigint>;
  name: string;
  key: Defaulted<string>;
  payload: Jsonb | null;
  created_at: Defaulted<Timestamp>;
}

export interface JobWaits {
  id: Defaulted<Bigint>;
  run_id: Bigint;
  kind: WaitKind;
  name: string;
  key: Defaulted<string>;
  created_at: Defaulted<Timestamp>;
  until: Timestamp | null;
  since: Timestamp | null;
  needs_success: boolean | null;
  cancels: boolean | null;
  reason: string | null;
  outcome: WaitOutcome | null;
  result: Jsonb | null;
  ended_at: Timestamp | null;
}

export interface JobAwaitedRuns {
  wait_id: Bigint;
  position: number;
  run_id: Bigint;
  status: string | null;
  output: Jsonb | null;
  error: string | null;
  name: string | null;
}

export interface JobChanges {
  id: Defaulted<Bigint>;
  position: Bigint | null;
  kind: ChangeKind;
  run_id: Bigint;
  job: string;
  definition_id: Bigint | null;
  status: string;
  attempts: number;
  generation: number;
  at: Defaulted<Timestamp>;
}

export interface ChangesHead {
  is_only: Defaulted<boolean>;
  origin: Defaulted<string>;
  position: Defaulted<Bigint>;
  kept_after: Defaulted<Bigint>;
  given_in: Xid8 | null;
}

export interface ChangeWebhooks {
  job: string;
  position: Bigint;
}
