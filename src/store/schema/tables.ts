// The tables of migrations/ as a type for Kysely's builder and the compiler. test/store/schema/tables.test.ts
// compares it with the server's catalogue.
import type { Details } from '../../model/audit.js';
import type { Json } from '../../model/job/job.js';
import type { Via } from '../../model/operator.js';
import type { Chain, IntervalWait } from '../../model/planning/chain.js';
import type { CatchupPolicy, OverlapPolicy } from '../../model/planning/policies.js';
import type { OutsideWindow } from '../../model/planning/window.js';
import type { RunStatus, Trigger } from '../../model/run/states.js';
import type { Shift } from '../../model/schedule/days/shifted-days.js';
import type { Dst } from '../../model/schedule/spec.js';
import type { AlertTables } from './alert-tables.js';
import type {
  Bigint,
  Defaulted,
  Float,
  Jsonb,
  Multirange,
  Oid,
  Timestamp,
  Uuid,
  Xid,
} from './column-types.js';
import type {
  FairKeys,
  FairScopes,
  Freezes,
  JobCalendars,
  JobLimits,
  JobQueues,
  JobSlots,
  KeySettings,
} from './fair-tables.js';
import type {
  Deploys,
  FiguresByMinute,
  FiguresProgress,
  FiguresRetried,
  FiguresTotal,
} from './figures-tables.js';
import type {
  DefinitionVersions,
  JobEffects,
  JobExceptions,
  JobHandOffs,
  JobKeys,
  JobOccurrences,
  JobOffers,
  JobSuccessors,
  QueueRoles,
  Registrations,
  Zones,
} from './run-tables.js';
import type {
  ChangesHead,
  ChangeWebhooks,
  JobAwaitedRuns,
  JobChanges,
  JobEvents,
  JobOutbox,
  JobWaits,
} from './wait-table.js';

/** Who made a definition: the job modules, or an operator or the app. */
export type Origin = 'code' | 'runtime';
export type WorkerKind = 'tick' | 'daemon' | 'library' | 'manual' | 'relay';
/** What ticks: cron or a person by the programs, a daemon, or an app by the library. */
export type TickKind = 'tick' | 'daemon' | 'library';

export interface JobDefinitions {
  id: Defaulted<Bigint>;
  name: string;
  job: string;
  payload: Jsonb<Json> | null;
  origin: Defaulted<Origin>;
  service: Defaulted<string>;
  cron: string | null;
  every_ms: Bigint | null;
  phase_ms: Defaulted<Bigint>;
  anchor: string | null;
  at: string | null;
  after: Jsonb<Chain> | null;
  waits_for: Jsonb<IntervalWait> | null;
  timezone: Defaulted<string>;
  dst: Defaulted<Dst>;
  start_at: Timestamp | null;
  end_at: Timestamp | null;
  exclude: Defaulted<Jsonb<Json>>;
  shift: Shift | null;
  active_window: string | null;
  outside_window: Defaulted<OutsideWindow>;
  overlap: Defaulted<OverlapPolicy>;
  catchup: Defaulted<CatchupPolicy>;
  catchup_window_ms: Bigint | null;
  start_deadline_ms: Bigint | null;
  jitter_ms: Defaulted<Bigint>;
  remaining_count: number | null;
  remaining_stated: number | null;
  pause_on_failure_count: number | null;
  expect_within_ms: Bigint | null;
  max_duration_ms: Bigint | null;
  on_dead: string | null;
  keeps_changes: boolean | null;
  queue: Defaulted<string>;
  priority: Defaulted<number>;
  max_attempts: Defaulted<number>;
  tags: string[] | null;
  cursor: Defaulted<Timestamp>;
  next_at: Defaulted<Timestamp | null>;
  version: Defaulted<number>;
  fingerprint: string | null;
  has_followers: Defaulted<boolean>;
  excepted_until: Timestamp | null;
  paused_at: Timestamp | null;
  paused_until: Timestamp | null;
  pause_reason: string | null;
  pause_id: Bigint | null;
  resumed_at: Timestamp | null;
  broken_at: Timestamp | null;
  broken_reason: string | null;
  vanished_at: Timestamp | null;
  created_at: Defaulted<Timestamp>;
  updated_at: Defaulted<Timestamp>;
}

interface DatabaseIdentity {
  system_identifier: Bigint;
  database_oid: Oid;
  is_nested: boolean;
  written_by: Xid;
  noted_at: Defaulted<Timestamp>;
}

interface JobRuns {
  id: Defaulted<Bigint>;
  definition_id: Bigint | null;
  run_at: Defaulted<Timestamp>;
  priority: Defaulted<number>;
  attempts: Defaulted<number>;
  max_attempts: Defaulted<number>;
  fence: Defaulted<number>;
  releases: Defaulted<number>;
  generation: Defaulted<number>;
  occurrence_count: Defaulted<number>;
  scheduled_for: Timestamp | null;
  interval_start: Timestamp | null;
  start_by: Timestamp | null;
  locked_until: Timestamp | null;
  locked_by: Uuid | null;
  created_at: Defaulted<Timestamp>;
  started_at: Timestamp | null;
  finished_at: Timestamp | null;
  cancel_requested_at: Timestamp | null;
  status: Defaulted<RunStatus>;
  job: string;
  queue: Defaulted<string>;
  trigger: Defaulted<Trigger>;
  idempotency_key: string | null;
  live_key: string | null;
  slot_keys: string[] | null;
  slot_limits: number[] | null;
  blocked_on: string | null;
  unblocked_on: string | null;
  payload: Jsonb | null;
  progress: Jsonb | null;
  output: Jsonb | null;
  errors: Defaulted<Jsonb>;
  skip_reason: string | null;
  traceparent: string | null;
  last_traceparent: string | null;
  is_awaited: boolean | null;
  began_at: Timestamp | null;
  snoozes: number | null;
  has_waiters: boolean | null;
  has_parents: boolean | null;
  tags: string[] | null;
  keeps_changes: boolean | null;
}

interface JobRunsFinished extends JobRuns {
  finished_at: Timestamp;
}

interface LogSegments {
  segment: number;
  opened_at: Defaulted<Timestamp>;
  closed_at: Timestamp | null;
}

interface JobLogs {
  run_id: Bigint;
  fence: number;
  segment: number;
  attempt: number;
  began_at: Timestamp;
  cut_lines: Bigint;
  cut_bytes: Bigint;
  head: string;
  tail: string;
}

interface Workers {
  id: Uuid;
  kind: WorkerKind;
  host: string;
  pid: number;
  process: string | null;
  capacity: number;
  started_at: Defaulted<Timestamp>;
  seen_at: Defaulted<Timestamp>;
  heartbeat_ms: number | null;
  draining: Defaulted<boolean>;
  queues: string[] | null;
  service: Defaulted<string>;
  fingerprint: string | null;
  cpu: Float | null;
  memory_bytes: Bigint | null;
  loop_delay_ms: Float | null;
}

interface Sleepers {
  worker_id: Uuid;
  queues: string[] | null;
}

interface Ticks {
  host: string;
  folder: string;
  kind: TickKind;
  service: Defaulted<string>;
  fingerprint: string | null;
  set_at: Defaulted<Timestamp>;
  first_at: Defaulted<Timestamp>;
  at: Defaulted<Timestamp>;
  tick_count: Defaulted<Bigint>;
  version: string;
  node: string;
  zone_data: string;
  clock_ms: Bigint;
  stopped_at: Timestamp | null;
  asleep_until: Timestamp | null;
  silences: Multirange | null;
}

interface Audit {
  id: Defaulted<Bigint>;
  created_at: Defaulted<Timestamp>;
  database_role: Defaulted<string>;
  operator: Defaulted<string>;
  via: Via;
  action: string;
  targets: Defaulted<string[]>;
  count: number;
  details: Defaulted<Jsonb<Details>>;
  part_of: Bigint | null;
}

interface Upkeep {
  kind: string;
  at: Defaulted<Timestamp>;
}

interface RetentionChanges {
  source: Oid;
  run_id: Bigint;
}

interface Migrations {
  name: string;
  checksum: string;
  applied_at: Defaulted<Timestamp>;
  objects: Jsonb<object> | null;
}

/** The tables by name. Partitions of `job_runs_finished` and `job_logs` have their columns, and own names. */
export interface Schema extends AlertTables {
  'tock.job_definitions': JobDefinitions;
  'tock.definition_versions': DefinitionVersions;
  'tock.registrations': Registrations;
  'tock.database_identity': DatabaseIdentity;
  'tock.job_runs': JobRuns;
  'tock.job_runs_live': JobRuns;
  'tock.job_runs_finished': JobRunsFinished;
  'tock.job_keys': JobKeys;
  'tock.job_occurrences': JobOccurrences;
  'tock.job_exceptions': JobExceptions;
  'tock.job_effects': JobEffects;
  'tock.job_events': JobEvents;
  'tock.job_waits': JobWaits;
  'tock.job_awaited_runs': JobAwaitedRuns;
  'tock.job_outbox': JobOutbox;
  'tock.job_changes': JobChanges;
  'tock.changes_head': ChangesHead;
  'tock.change_webhooks': ChangeWebhooks;
  'tock.job_successors': JobSuccessors;
  'tock.job_hand_offs': JobHandOffs;
  'tock.job_offers': JobOffers;
  'tock.queue_roles': QueueRoles;
  'tock.log_segments': LogSegments;
  'tock.job_logs': JobLogs;
  'tock.job_queues': JobQueues;
  'tock.job_calendars': JobCalendars;
  'tock.job_slots': JobSlots;
  'tock.freezes': Freezes;
  'tock.fair_scopes': FairScopes;
  'tock.job_limits': JobLimits;
  'tock.key_settings': KeySettings;
  'tock.fair_keys': FairKeys;
  'tock.workers': Workers;
  'tock.deploys': Deploys;
  'tock.sleepers': Sleepers;
  'tock.ticks': Ticks;
  'tock.zones': Zones;
  'tock.audit': Audit;
  'tock.upkeep': Upkeep;
  'tock.retention_changes': RetentionChanges;
  'tock.figures_by_minute': FiguresByMinute;
  'tock.figures_by_hour': FiguresByMinute;
  'tock.figures_total': FiguresTotal;
  'tock.figures_progress': FiguresProgress;
  'tock.figures_retried': FiguresRetried;
  'tock.migrations': Migrations;
}
