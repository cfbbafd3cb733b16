// The hot statements, each as the engine calls it, and the tables that they are tried on.
import type { Outcome } from '../../../src/model/run/decide.js';
import { readUndelivered } from '../../../src/store/alerts/deliveries.js';
import {
  forgetFlips,
  readAlertStates,
  readStopped,
  takeAlertEvents,
} from '../../../src/store/alerts/evaluation.js';
import { readDueWatches, readLongRuns, readWaitingQueues } from '../../../src/store/alerts/facts.js';
import type { Session } from '../../../src/store/connection/database.js';
import { lockDueDefinitions, readClockAndLive } from '../../../src/store/definitions/due.js';
import type { Ticker } from '../../../src/store/definitions/ticks.js';
import { askWhetherIdle, readNextDue } from '../../../src/store/reads/next-due.js';
import { admitUnderOneKey } from '../../../src/store/runs/claim/admit-one-key.js';
import { claimFreeRun, claimFreeRuns, claimInLanes } from '../../../src/store/runs/claim/claim.js';
import { unblockRuns } from '../../../src/store/runs/claim/unblock.js';
import { enqueueRuns } from '../../../src/store/runs/enqueue/enqueue.js';
import type { EnqueuedRow, RunShape } from '../../../src/store/runs/enqueue/enqueued-run.js';
import {
  type Finalization,
  finalizeRuns,
  type PassingOn,
  readEndedAttempts,
} from '../../../src/store/runs/finalize.js';
import { renewLeases, writeProgress } from '../../../src/store/runs/leases.js';
import { insertAndMove } from '../../../src/store/runs/materialize.js';
import { beginReaping, reapRuns } from '../../../src/store/runs/reap/reap.js';
import { REAPING } from '../../support/runs.js';

const TICKER: Ticker = {
  host: 'h',
  folder: '/srv/app',
  kind: 'tick',
  service: '',
  fingerprint: 'f',
  version: '0.1.0',
  node: '24.0.0',
  zoneData: '2025c',
  keeps: 'false',
  hostMs: 0,
};
export const WORKER = '00000000-0000-4000-8000-000000000001';

/** Half of the runs due, a third in the future under a higher priority, some leased, some finished. */
export const FILL_LARGE = `
    insert into tock.job_runs_live (id, job, run_at, priority) select n, 'noop', now() - interval '1 h', 0 from generate_series(1, 30000) n;
    insert into tock.job_runs_live (id, job, run_at, priority) select n, 'noop', now() + interval '1 y', -5 from generate_series(30001, 50000) n;
    update tock.job_runs_live set status = 'running', fence = 1, attempts = 1, locked_by = '${WORKER}', locked_until = now() - interval '1 s' where id <= 2000;
    update tock.job_runs_live set slot_keys = '{k}', slot_limits = '{1}', blocked_on = 'k' where id between 29001 and 30000;
    insert into tock.job_runs_finished (id, job, status, finished_at, fence) select n, 'noop', 'succeeded', now() - n * interval '1 s', 1 from generate_series(100001, 150000) n;
    insert into tock.job_keys (idempotency_key, run_id) select 'key-' || n, n from generate_series(1, 50000) n;
    insert into tock.job_definitions (name, job, cron, next_at) select 'd' || n, 'noop', '0 0 1 1 *', now() + interval '1 y' from generate_series(1, 20000) n;
    insert into tock.alert_watches (definition_id, check_at) select id, now() + interval '1 h' from tock.job_definitions;
    insert into tock.alert_states (rule, subject, status, since, last_at, detail) select 'late', 'd' || n, 'up', now(), now(), 'x' from generate_series(1, 20000) n;
    insert into tock.alert_flips (rule, condition, subject, kind, at, since, detail) select 'late', 'late', 'd' || n, 'up', now(), now(), 'x' from generate_series(1, 20000) n;
    insert into tock.alert_deliveries (flip_id, channel, run_id) select id, 'mail', id from tock.alert_flips;`;

// A hundredth of the rows. Of a much larger part PostgreSQL 15 without statistics rightly reads the whole table.
const held = Array.from({ length: 500 }, (_, n) => ({ id: String(n + 1), fence: 1 }));
const outcome = (more: Partial<Outcome> = {}): Outcome => ({
  transition: 'succeed',
  output: null,
  error: null,
  delayMs: 0,
  skipReason: null,
  ...more,
});
const finalize = (
  session: Session,
  more: Partial<Outcome>,
  passingOn: PassingOn<Finalization> | null = null,
) =>
  finalizeRuns(
    session,
    held.map(each => ({ ...each, outcome: outcome(more) })),
    WORKER,
    passingOn,
  );
const error = { attempt: 1, name: 'Error', code: null, message: 'no', stack: null };
const WATERMARKS = [0, 3].map(priority => ({
  queue: 'default',
  priority,
  at: '2026-03-01T12:00:00Z',
  id: '0',
}));
export const claim = { limit: 2000, workerId: WORKER, leaseMs: 60_000, queues: null };
const shape: RunShape = {
  job: 'noop',
  is_live: false,
  replaces: false,
  max_ms: null,
  at: null,
  delay_ms: null,
  queue: 'default',
  priority: 0,
  max_attempts: 10,
  trigger: 'api',
  slot: null,
  slot_limit: null,
};
const rows = (more: Partial<RunShape> = {}): EnqueuedRow[] =>
  Array.from({ length: 500 }, (_, n) => ({
    shape: { ...shape, ...more },
    payload: `{"n":${n}}`,
    key: `key-${n}`,
  }));

const ids = Array.from({ length: 500 }, (_, n) => String(n + 1));

/** As many definitions as are materialized at once. */
const definitions = Array.from({ length: 1000 }, (_, n) => String(n + 1));
const AT = Date.parse('2026-03-02T12:00:00Z');
/** A run of each hundredth definition: of a twentieth of the table, PostgreSQL 15 rather reads all of it. */
const due = Array.from({ length: 200 }, (_, n) => String(n * 100 + 1));
const materialized = due.map(id => ({
  definition_id: id,
  key: `cron:${id}`,
  scheduled_for: AT,
  run_at: AT,
  start_by: null,
  interval_start: null,
  occurrence_count: 1,
  skip_reason: null,
  slot_keys: null,
  slot_limits: null,
  trigger: 'cron' as const,
}));
const cursors = due.map(id => ({ id, cursor: AT, nextAt: AT + 1000, remaining: null }));

const alerts = {
  waitMs: 60_000,
  waitQueues: null,
  silentMs: 60_000,
  asksDuration: true,
  asksLate: true,
};
const CLAIM_INDEX = 'job_runs_live_claim';
const PRIMARY_KEY = 'job_runs_live_pkey';
export const HOT: readonly [string, (session: Session) => Promise<unknown>, readonly string[]][] = [
  ['a claim from the beginning', s => claimFreeRuns(s, claim), [CLAIM_INDEX, PRIMARY_KEY]],
  [
    'a claim from the watermarks of some',
    s => claimFreeRuns(s, claim, WATERMARKS),
    [CLAIM_INDEX, PRIMARY_KEY],
  ],
  ['when the next run is due, above watermarks', s => readNextDue(s, null, true, WATERMARKS), [CLAIM_INDEX]],
  ['one in one lane', s => claimInLanes(s, claim, WATERMARKS.slice(0, 1)), [CLAIM_INDEX, PRIMARY_KEY]],
  [
    'a small one in one lane',
    s => claimInLanes(s, { ...claim, limit: 10 }, WATERMARKS.slice(0, 1)),
    [CLAIM_INDEX, PRIMARY_KEY],
  ],
  ['one in several lanes', s => claimInLanes(s, claim, WATERMARKS), [CLAIM_INDEX, PRIMARY_KEY]],
  ['a claim of one run', s => claimFreeRun(s, '17', claim), [PRIMARY_KEY]],
  ['a heartbeat', s => renewLeases(s, held, WORKER, 60_000), [PRIMARY_KEY]],
  [
    'progress',
    s =>
      writeProgress(
        s,
        held.map(each => ({ ...each, progress: {} })),
        WORKER,
      ),
    [PRIMARY_KEY],
  ],
  ['successes without output', s => finalize(s, {}), [PRIMARY_KEY]],
  ['successes with output', s => finalize(s, { output: { ok: true } }), [PRIMARY_KEY]],
  ['deaths', s => finalize(s, { transition: 'exhaust', error }), [PRIMARY_KEY]],
  ['failures', s => finalize(s, { transition: 'fail', error }), [PRIMARY_KEY]],
  ['releases', s => finalize(s, { transition: 'release' }), [PRIMARY_KEY]],
  ['what became of a lost reply', s => readEndedAttempts(s, held, WORKER), [PRIMARY_KEY]],
  [
    'the reaper',
    async s => {
      await beginReaping(s);
      await reapRuns(s, { ...REAPING, limit: 500 }).catch(() => undefined);
    },
    [CLAIM_INDEX],
  ],
  ['when the next run is due', s => readNextDue(s, null, false), [CLAIM_INDEX]],
  ['the poll of an idle daemon', s => readNextDue(s, null, true), [CLAIM_INDEX]],
  [
    'the question of a tick',
    s => askWhetherIdle(s, { queues: null, migrations: ['0001'] }, TICKER),
    [CLAIM_INDEX],
  ],
  [
    'the question of a tick with alerts',
    s => askWhetherIdle(s, { queues: null, migrations: ['0001'], alerts }, TICKER),
    [CLAIM_INDEX, 'alert_watches_due'],
  ],
  ['which attempts take too long', s => readLongRuns.run(s, { limit: 500 }), [CLAIM_INDEX]],
  ['which queues wait', s => readWaitingQueues.run(s, { waitMs: 1, waitQueues: null }), [CLAIM_INDEX]],
  ['which definitions may be late', s => readDueWatches(s, 500), ['alert_watches_due']],
  ['which definitions stand still', s => readStopped.run(s, { limit: 1000 }), ['job_definitions_stopped']],
  ['events of attempts', s => takeAlertEvents.run(s, { limit: 2000 }), []],
  [
    'the states of alerts',
    s => readAlertStates.run(s, { rules: ['late'], subjects: ['d1', 'd2'], limit: 5000 }),
    ['alert_states_pkey', 'alert_states_down'],
  ],
  ['what a delivery tells', s => readUndelivered.run(s, { runId: '7' }), ['alert_deliveries_run']],
  ['flips that are long ago', s => forgetFlips.run(s, { limit: 100 }), ['alert_flips_at']],
  ['unblocking', s => unblockRuns(s, ['k']), ['job_runs_live_blocked']],
  [
    'admitting runs that need one slot',
    s => admitUnderOneKey(s, { ids, workerId: WORKER, leaseMs: 1 }),
    [PRIMARY_KEY],
  ],
  [
    'ends that pass on their slots',
    s => finalize(s, {}, { limit: 500, leaseMs: 1, queues: null, holdsSlot: () => true }),
    [PRIMARY_KEY, 'job_runs_live_blocked'],
  ],
  [
    'locking due definitions',
    s => lockDueDefinitions(s, 1000, null, { id: '7', next_ms: AT }),
    ['job_definitions_due'],
  ],
  ['how many runs definitions have', s => readClockAndLive(s, definitions), ['job_runs_live_definition']],
  [
    'inserting runs and moving cursors',
    s => insertAndMove(s, materialized, cursors),
    ['job_definitions_pkey'],
  ],
  ['enqueueing with keys', s => enqueueRuns(s, rows()), ['job_keys_pkey']],
  ['enqueueing with live keys', s => enqueueRuns(s, rows({ is_live: true })), ['job_runs_live_key']],
];
