// The table of runs that are handed off, for Kysely's builder.
import type { HandOffDecision } from '../../model/run/hand-off-record.js';
import type { Bigint, Defaulted, Jsonb, Timestamp, Uuid } from './column-types.js';

export interface JobHandOffs {
  run_id: Bigint;
  fence: number;
  created_at: Defaulted<Timestamp>;
  handed_over_at: Timestamp | null;
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
