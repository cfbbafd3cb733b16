// The table of what runs wait for whose handlers have ended, for Kysely's builder; see tables.ts.
import type { WaitKind, WaitOutcome } from '../../model/run/run-wait.js';
import type { Bigint, Defaulted, Timestamp } from './column-types.js';

export interface JobWaits {
  run_id: Bigint;
  kind: WaitKind;
  name: string;
  created_at: Defaulted<Timestamp>;
  until: Timestamp | null;
  reason: string | null;
  outcome: WaitOutcome | null;
  ended_at: Timestamp | null;
}
