// Tells a story: daemons of one database, and a driver that moves its clock, ends and freezes them as the story says.
// Faults by lot are in suite/: its server dies and its connections are cut, which the server of all stories may not.
// In: a build, a story. Out: the invariants that did not hold.
import pg from 'pg';
import { HANDED_OFF } from '../../src/model/run/states.js';
import { bundleJobs, type Running, startProcess } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';
import { LATE_CLOCK, leap, readFinal, readHistory, recordHistory } from './history.js';
import { checkFinal, type Expectations } from './history-check.js';
import { checkFair } from './history-fair.js';
import { checkDecisions, type DecisionCall } from './history-hand-offs.js';
import { checkLimits } from './history-limits.js';
import type { Build } from './mutant-build.js';
import type { Change } from './planted-faults.js';
import { emitAll, findDoubledChildren, findLostWakeUps } from './waits.js';

/** What a story can do. */
export interface Hands {
  /** Starts a daemon. It polls, unless it `listens`. */
  readonly start: (listens?: boolean) => Running;
  readonly enqueue: (job: string) => Promise<void>;
  /** Moves the database's clock on. */
  readonly jump: (seconds: number) => Promise<unknown>;
  /** Resolves when the query gives a row. */
  readonly see: (query: string) => Promise<unknown>;
  /** Completes the first run that was handed off, under a fence. */
  readonly complete: (fence: number) => Promise<unknown>;
  /** Emits the event that 'hears-late' waits for. */
  readonly emitLate: () => Promise<unknown>;
  /** Locks the row of the live run of a job. Resolves to what gives the lock back. */
  readonly lock: (job: string) => Promise<() => Promise<void>>;
  /** Lets attempts go on at their gates, up to a fence. */
  readonly letGo: (untilFence: number) => Promise<unknown>;
}

/** If no run ends for so long, none ever will: I13 does not hold. */
const STUCK_MS = 120_000;

const RETRIED = ['minutely', 'latest', 'sevenths', 'once', 'transaction', 'sleeps', 'hears', 'parent', 'kid'];
const EXPECTED: Expectations = {
  periods: { minutely: 60_000, latest: 120_000, sevenths: 7000 },
  backoffs: Object.fromEntries([...RETRIED, 'joins'].map(job => [job, () => [400, 600] as const])),
  transactional: ['transaction'],
};
/** As the job says. */
const RATES = [{ prefix: '~default/fair/', stepMs: 500, burst: 2 }];
const LIMITS = { '~default/fair/*': 1 };
const DAEMONS = 2;
/** Its members by their names: some die. */
const GROUP = `select tock.enqueue_group((
  select jsonb_agg(jsonb_build_object('job', 'kid', 'max_attempts', 5, 'payload', jsonb_build_object('parent', $1::text, 'name', n))) from generate_series(1, 6) n),
  'joins', on_end => 'completion', idempotency_key => $1) as id`;
/** The attempts are named: it may come before the first process has registered the job. One fair key, with several runs. */
const ENQUEUE = `select tock.enqueue($1, '{"key": "a"}', $2, max_attempts => case $1 when 'suicide' then 2 else 5 end) as id`;
const TABLES = [
  'once_effects (key text)',
  'transaction_effects (run_id bigint)',
  'messages (run_id bigint, fence integer, attempt integer)',
  'begun (fence integer)',
  'let_go (until integer)',
];

/** Tells it. @param alterations faults in functions of the schema */
export async function tellStory(
  build: Build,
  story: (hands: Hands) => Promise<void>,
  alterations: readonly Change[] = [],
): Promise<string[]> {
  const test = await openTestTock();
  const url = (name: string) => {
    const named = new URL(test.url);
    named.searchParams.set('application_name', name);
    return named.href;
  };
  const pool = new pg.Pool({ connectionString: url('driver'), max: 2 });
  pool.on('error', () => undefined);
  const sql = async <Row>(text: string, values: unknown[] = []) =>
    (await pool.query(text, values)).rows as Row[];
  const jobs = await bundleJobs('test/chaos/story-jobs.ts');
  const processes: (Running & { readonly isTick: boolean })[] = [];
  let enqueued = 0;
  const decisions: DecisionCall[] = [];
  const lost = new Set<string>();

  const start = (listens = false, isTick = false) => {
    const env = {
      DATABASE_URL: url(`${isTick ? 'tick' : 'daemon'}-${processes.length + 1}`),
      TOCK_JOBS: jobs,
      TOCK_LEASE: '2s',
      TOCK_HEARTBEAT: '400ms',
      TOCK_GRACE: '300ms',
      TOCK_DRAIN: '1s',
      TOCK_CONNECTIONS: '25',
      TOCK_LOG_LEVEL: 'silent',
    };
    const running = isTick
      ? startProcess(build.tick, env, ['--budget', '2s'])
      : startProcess(build.cli, env, ['start', ...(listens ? [] : ['--no-listen']), '--json']);
    processes.push({ ...running, isTick });
    return running;
  };
  /** Some daemons, and a tick at any time, as cron starts them. */
  const fill = () => {
    const count = (ticks: boolean) =>
      processes.filter(
        ({ child, isTick }) => isTick === ticks && child.exitCode === null && child.signalCode === null,
      ).length;
    while (count(false) < DAEMONS) start(processes.length % 2 === 0);
    if (count(true) === 0) start(false, true);
  };
  const jump = (seconds: number) => leap(sql, seconds);
  const decide = async (runId: string, fence: number) => {
    const [row] = await sql<{ held: boolean }>('select tock.complete($1, $2) as held', [runId, fence]);
    decisions.push({ runId, fence, decision: 'succeeded', answer: row?.held ?? 'unknown' });
  };
  interface Message {
    readonly runId: string;
    readonly fence: number;
  }
  const completeAll = async () => {
    const left = await sql<Message>(
      `select id::text as "runId", fence from tock.job_runs_live where locked_by = $1 and locked_until < '9999-01-01'`,
      [HANDED_OFF],
    );
    await Promise.all(left.map(({ runId, fence }) => decide(runId, fence)));
  };
  const hands: Hands = {
    start: listens => start(listens),
    async enqueue(job) {
      const key = `key:${++enqueued}`;
      await (job === 'joins' ? sql(GROUP, [key]) : sql(ENQUEUE, [job, key]));
    },
    jump,
    see: query => until(async () => (await sql(query)).length > 0, query),
    async complete(fence) {
      const [message] = await sql<Message>(
        `select run_id::text as "runId", fence from public.messages order by run_id limit 1`,
      );
      await decide(message?.runId ?? '', fence);
    },
    emitLate: () => sql(`select tock.emit('news', 'late')`),
    async lock(job) {
      const client = new pg.Client({ connectionString: url('client') });
      await client.connect();
      await client.query('begin');
      await client.query('select from tock.job_runs_live where job = $1 for update', [job]);
      return () => client.end();
    },
    letGo: untilFence => sql('insert into public.let_go values ($1)', [untilFence]),
  };

  const becomeQuiet = async (): Promise<string[]> => {
    for (const { child } of processes) child.kill('SIGCONT');
    // Whatever the story was: each schedule comes due once more, and then no more.
    await jump(150);
    let looks = 0;
    const nothingDue = async () => {
      fill();
      // A mutant may wait for the next minute.
      if (++looks % 150 === 0) await jump(20);
      const due = `select 1 from tock.job_definitions where next_at <= tock.now() or next_at = '-infinity'`;
      return (await sql(due)).length === 0 && (await sql('select 1 from tock.job_definitions')).length > 0;
    };
    let ended = -1;
    let endedAt = performance.now();
    const isQuiet = async () => {
      fill();
      await completeAll();
      for (const line of await findLostWakeUps(sql)) lost.add(line);
      await emitAll(sql);
      const [left] = await sql<{ live: number; waiting: number; ended: number }>(
        `select count(*)::int as live, (count(*) filter (where status in ('queued', 'failed') and run_at > tock.now()))::int as waiting,
          (select count(*) from tock.job_runs_finished)::int as ended from tock.job_runs_live`,
      );
      if (left && left.ended !== ended) [ended, endedAt] = [left.ended, performance.now()];
      if (performance.now() - endedAt > STUCK_MS) throw new Error('no run ends');
      // Nothing is left but backoffs and waits: no need to sit through them.
      if (left && left.live > 0 && left.live === left.waiting) await jump(10);
      return left?.live === 0 || lost.size > 0;
    };
    try {
      await until(nothingDue, 'all that is due to be materialized', STUCK_MS);
      await sql(`update tock.job_definitions set paused_at = tock.now()`);
      await until(isQuiet, 'quiet', Number.POSITIVE_INFINITY);
    } catch {
      const left = await sql<{ text: string }>(
        `select id || ' of ' || job || ' is ' || status as text from tock.job_runs_live limit 5`,
      );
      return [`I13 not quiet: ${left.map(row => row.text).join(', ')}`];
    }
    if (lost.size > 0) return [...lost];
    for (const { child } of processes) child.kill('SIGTERM');
    await Promise.all(processes.map(each => each.ended));
    const history = await readHistory(sql);
    return [
      ...checkFinal(history, await readFinal(sql), EXPECTED),
      ...checkDecisions(history, decisions),
      ...checkFair(history, RATES).wrong,
      ...checkLimits(history, LIMITS).wrong,
      ...(await findDoubledChildren(sql)),
    ];
  };

  try {
    for (const table of TABLES) await sql(`create table public.${table}`);
    for (const { place, from, to } of alterations) {
      const [found] = await sql<{ text: string }>('select pg_get_functiondef($1::regproc) as text', [place]);
      // Then the mutant must be written anew.
      if (!found?.text.includes(from)) throw new Error(`not found: ${place}: ${from}`);
      await sql(found.text.replace(from, () => to));
    }
    for (const statement of LATE_CLOCK) await sql(statement);
    await recordHistory(sql);
    await story(hands);
    return await becomeQuiet();
  } finally {
    for (const { child } of processes) child.kill('SIGKILL');
    await Promise.all(processes.map(each => each.ended));
    await pool.end();
    await test.close();
  }
}
