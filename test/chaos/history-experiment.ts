// An experiment: processes of one database, and a driver that ends, freezes and cuts
// them by lot, moves the clock, and enqueues.
// In: a build, a seed, how many steps. Out: the invariants that did not hold.
import pg from 'pg';
import { HANDED_OFF } from '../../src/model/run/states.js';
import { random } from '../model/schedule/random.js';
import { bundleJobs, type Running, startProcess } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';
import { type ClientCall, type HistoryEvent, readFinal, readHistory, recordHistory } from './history.js';
import { checkFinal, type Expectations } from './history-check.js';
import { checkFair } from './history-fair.js';
import { checkDecisions, countHandOffs, type DecisionCall } from './history-hand-offs.js';
import { checkLimits } from './history-limits.js';
import { countWaits } from './history-waits.js';
import type { Build } from './mutant-build.js';
import {
  EMISSIONS,
  emitAll,
  emitNews,
  findDoubledChildren,
  findLostWakeUps,
  meddle,
  newsKey,
} from './waits.js';

export interface ExperimentOptions {
  readonly build: Build;
  /** So many blows by lot; or a story. */
  readonly faults:
    | { readonly seed: number; readonly steps: number }
    | { readonly story: (hands: Hands) => Promise<void> };
  /** Faults in functions of the schema. */
  readonly alterations?: readonly Alteration[];
}

/** A function of the schema, and one place of its text and what it becomes. */
export interface Alteration {
  readonly function: string;
  readonly from: string;
  readonly to: string;
}

/** What a story can do. */
export interface Hands {
  /** Starts a daemon. It polls, unless it `listens`. */
  readonly start: (listens?: boolean) => Running;
  readonly enqueue: (job: string) => Promise<void>;
  /** Moves the database's clock on. */
  readonly jump: (seconds: number) => Promise<unknown>;
  /** Resolves when the query gives a row. */
  readonly see: (query: string) => Promise<unknown>;
  /** Completes the first run that was handed off, under a fence. Resolves to the answer. */
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

const EXPECTED: Expectations = {
  periods: { minutely: 60_000, latest: 120_000, sevenths: 7000 },
  backoffs: Object.fromEntries(
    [
      'minutely',
      'latest',
      'sevenths',
      'once',
      'transaction',
      'sleeps',
      'hears',
      'parent',
      'kid',
      'joins',
    ].map(job => [job, () => [400, 600] as const]),
  ),
  transactional: ['transaction'],
};
/** As the job says. */
const RATES = [{ prefix: '~default/fair/', stepMs: 500, burst: 2 }];
const LIMITS = { '~default/fair/*': 1 };
const SLOTS = 3;
/** Its members by their names: some die. */
const GROUP = `select tock.enqueue_group((
  select jsonb_agg(jsonb_build_object('job', 'kid', 'max_attempts', 5, 'payload', jsonb_build_object('parent', $1::text, 'name', n))) from generate_series(1, 6) n),
  'joins', on_end => 'completion', idempotency_key => $1) as id`;

/** Few tenants, so that each has several runs at a time. */
const payloadOf = (key: string, job: string) =>
  job === 'fair' || job === 'closes'
    ? JSON.stringify({ tenant: job === 'closes' ? 1 : key.length % 2 })
    : '{}';

/** Throws where the function no longer has the text: then the mutant must be written anew. */
async function alter(
  sql: <Row>(text: string, values?: unknown[]) => Promise<Row[]>,
  { function: name, from, to }: Alteration,
): Promise<void> {
  const [found] = await sql<{ text: string }>('select pg_get_functiondef($1::regproc) as text', [
    `tock.${name}`,
  ]);
  if (!found?.text.includes(from)) throw new Error(`not found: tock.${name}: ${from}`);
  await sql(found.text.replace(from, () => to));
}

/** What happened in an experiment, so that one in which nothing did is not taken for a proof. */
export interface Experiment {
  /** The invariants that did not hold, a line each. */
  readonly wrong: readonly string[];
  readonly processes: number;
  readonly claims: number;
  readonly reaped: number;
  readonly ended: number;
  readonly handedOff: number;
  /** How many of these were decided by calls. */
  readonly decided: number;
  /** How many waits ended, by how they did. */
  readonly waits: Readonly<Record<string, number>>;
  /** Starts of runs of fair keys. */
  readonly fairStarts: number;
}

/** Runs one experiment. */
export async function runExperiment(options: ExperimentOptions): Promise<Experiment> {
  const { faults } = options;
  const { below, chance, pick } = random('seed' in faults ? faults.seed : 0);
  const test = await openTestTock();
  const driver = new URL(test.url);
  driver.searchParams.set('application_name', 'driver');
  const pool = new pg.Pool({ connectionString: driver.href, max: 2 });
  pool.on('error', () => undefined);
  const sql = async <Row>(text: string, values: unknown[] = []) =>
    (await pool.query(text, values)).rows as Row[];
  const jobs = await bundleJobs('test/chaos/history-jobs.ts');
  const slots: { running: Running; isFrozen: boolean }[] = [];
  const calls: ClientCall[] = [];
  const decisions: DecisionCall[] = [];
  const lost: string[] = [];
  const operator = test.another({ connectionString: driver.href });
  const lookForLost = async () => void lost.push(...(await findLostWakeUps(sql)));
  let born = 0;

  const start = (script: 'daemon' | 'tick', listens = false) => {
    const url = new URL(test.url);
    url.searchParams.set('application_name', `${script}-${++born}`);
    const env = {
      DATABASE_URL: url.href,
      TOCK_JOBS: jobs,
      TOCK_LEASE: '2s',
      TOCK_HEARTBEAT: '400ms',
      TOCK_GRACE: '300ms',
      TOCK_DRAIN: '1s',
      TOCK_CONNECTIONS: '25',
      TOCK_LOG_LEVEL: 'silent',
    };
    const isDaemon = script === 'daemon';
    const args = isDaemon ? ['start', ...(listens ? [] : ['--no-listen']), '--json'] : ['--budget', '2s'];
    const slot = {
      running: startProcess(isDaemon ? options.build.cli : options.build.tick, env, args),
      isFrozen: false,
    };
    slots.push(slot);
    return slot.running;
  };
  const isAlive = ({ running }: { running: Running }) =>
    running.child.exitCode === null && running.child.signalCode === null;
  const fill = () => {
    slots.splice(0, slots.length, ...slots.filter(isAlive));
    while (slots.filter(each => !each.isFrozen).length < SLOTS)
      start(chance(0.75) ? 'daemon' : 'tick', chance(0.5));
  };
  const jump = (seconds: number) =>
    sql(`update tock.test_shift set by = by + $1 * interval '1 second'`, [seconds]);
  const terminate = (share: number) =>
    sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
      and pid <> pg_backend_pid() and application_name ~ '^(daemon|tick|client)' and random() < $1`,
      [share],
    );

  /** Of its own connection, which may be cut under it. */
  const openClient = () => {
    const url = new URL(test.url);
    url.searchParams.set('application_name', 'client');
    const client = new pg.Client({ connectionString: url.href });
    client.on('error', () => undefined);
    return client;
  };
  const enqueue = async (key: string, job: string) => {
    const client = openClient();
    try {
      await client.connect();
      // The attempts are named: it may come before the first process has registered the job.
      const statement = 'select tock.enqueue($1, $2, $3, max_attempts => $4) as id';
      const attempts = job === 'suicide' ? 2 : 5;
      const { rows } = await (job === 'joins'
        ? client.query<{ id: string }>(GROUP, [key])
        : client.query<{ id: string }>(statement, [job, payloadOf(key, job), key, attempts]));
      calls.push({ key, told: 'ok', runId: rows[0]?.id ?? null });
    } catch (error) {
      const isRefused = (error as { code?: string }).code === '22023';
      calls.push({ key, told: isRefused ? 'fail' : 'unknown', runId: null });
    }
    await client.end().catch(() => undefined);
  };

  const emit = async () => {
    const client = openClient();
    const [way, key, holdMs] = [pick(EMISSIONS), newsKey(below(99)), below(600)];
    try {
      await client.connect();
      await emitNews(client, way, key, holdMs);
    } catch {
      // It may have been cut: what is on record counts.
    }
    await client.end().catch(() => undefined);
  };

  /** The other system: calls a function for a run that it was sent. */
  const decide = async (runId: string, fence: number, decision: DecisionCall['decision']) => {
    const client = openClient();
    const text =
      decision === 'succeeded'
        ? 'select tock.complete($1, $2) as held'
        : `select tock.fail($1, $2, 'by lot', retry => ${decision === 'failed'}) as held`;
    let answer: DecisionCall['answer'] = 'unknown';
    try {
      await client.connect();
      answer = (await client.query<{ held: boolean }>(text, [runId, fence])).rows[0]?.held ?? 'unknown';
    } catch {
      // It may have been cut before or after the commit.
    }
    decisions.push({ runId, fence, decision, answer });
    await client.end().catch(() => undefined);
    return answer;
  };
  interface Message {
    readonly runId: string;
    readonly fence: number;
  }
  /** Answers a few messages, some of them old; some with a fence that was never sent. */
  const answer = async () => {
    const messages = await sql<Message>(
      `select run_id::text as "runId", fence from public.messages order by run_id desc, fence desc limit 8`,
    );
    const chosen = messages.filter(() => chance(0.4));
    await Promise.all(
      chosen.map(async ({ runId, fence }) => {
        const die = below(10);
        if (die === 0) await decide(runId, fence + 1, 'succeeded');
        else if (die === 1) await sql(`select tock.extend($1, $2, '30 s')`, [runId, fence]);
        else await decide(runId, fence, die < 5 ? 'succeeded' : die < 8 ? 'failed' : 'dead');
      }),
    );
  };
  const completeAll = async () => {
    const left = await sql<Message>(
      `select id::text as "runId", fence from tock.job_runs_live where locked_by = $1 and locked_until < '9999-01-01'`,
      [HANDED_OFF],
    );
    await Promise.all(left.map(({ runId, fence }) => decide(runId, fence, 'succeeded')));
  };

  const kill = async () => pick(slots).running.child.kill('SIGKILL');
  const drain = async () => pick(slots).running.child.kill('SIGTERM');
  const freeze = async () => {
    const slot = pick(slots);
    if (slots.filter(each => each.isFrozen).length < SLOTS)
      slot.isFrozen = slot.running.child.kill('SIGSTOP');
  };
  const thaw = async () => {
    const slot = slots.find(each => each.isFrozen);
    if (slot) slot.isFrozen = !slot.running.child.kill('SIGCONT');
  };
  const nothing = async () => undefined;
  const steps: readonly (() => Promise<unknown>)[] = [
    kill,
    kill,
    drain,
    freeze,
    freeze,
    thaw,
    thaw,
    nothing,
    nothing,
    nothing,
    () => terminate(1),
    () => terminate(0.3),
    () => terminate(0.3),
    () => jump(1),
    () => jump(3),
    () => jump(30 + below(90)),
  ];

  const pickJob = (round: number) => {
    const one = below(23);
    // A few: each takes its process and all that runs there along, and that takes its time to be found out.
    if (round % 20 === 7) return 'suicide';
    if (one === 3 || one === 5) return 'handed';
    if (one > 11)
      return (
        ['hears', 'hears', 'parent', 'parent', 'sleeps', 'sleeps', 'joins', 'fair', 'fair', 'fair', 'fair'][
          one - 12
        ] ?? 'hears'
      );
    return one === 1 ? 'not a job' : one % 2 === 0 ? 'once' : 'transaction';
  };
  const drive = async (rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      fill();
      const enqueued = [1, 2].map(each => enqueue(`key:${round}:${each}`, pickJob(round)));
      await pick(steps)();
      const move = below(4);
      const meddling = move < 2 ? meddle(sql, operator, move === 0 ? 'cancel' : 'retry') : null;
      await Promise.all([...enqueued, answer(), emit(), meddling, lookForLost()]);
      // Not to wait for anything: so that some work is done between two blows.
      await new Promise(resolve => setTimeout(resolve, 50 + below(250)));
    }
  };
  const hands: Hands = {
    start: listens => start('daemon', listens),
    enqueue: job => enqueue(`key:story:${calls.length}`, job),
    jump,
    see: query => until(async () => (await sql(query)).length > 0, query),
    complete: async fence => {
      const [message] = await sql<Message>(
        `select run_id::text as "runId", fence from public.messages order by run_id limit 1`,
      );
      return await decide(message?.runId ?? '', fence, 'succeeded');
    },
    emitLate: () => sql(`select tock.emit('news', 'late')`),
    lock: async job => {
      const client = openClient();
      await client.connect();
      await client.query('begin');
      await client.query('select from tock.job_runs_live where job = $1 for update', [job]);
      return () => client.end();
    },
    letGo: untilFence => sql('insert into public.let_go values ($1)', [untilFence]),
  };

  const becomeQuiet = async (): Promise<string[]> => {
    for (const slot of slots) slot.running.child.kill('SIGCONT');
    for (const slot of slots) slot.isFrozen = false;
    // Whatever the lots were: each schedule comes due once more, and then no more.
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
      await lookForLost();
      await emitAll(sql);
      const [left] = await sql<{
        live: number;
        waiting: number;
        ended: number;
      }>(`select count(*)::int as live,
        (count(*) filter (where status in ('queued', 'failed') and run_at > tock.now()))::int as waiting,
        (select count(*) from tock.job_runs_finished)::int as ended from tock.job_runs_live`);
      if (left && left.ended !== ended) [ended, endedAt] = [left.ended, performance.now()];
      if (performance.now() - endedAt > STUCK_MS) throw new Error('no run ends');
      // Nothing is left but backoffs and waits: no need to sit through them.
      if (left && left.live > 0 && left.live === left.waiting) await jump(10);
      return left?.live === 0 || lost.length > 0;
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
    if (lost.length > 0) return [...new Set(lost)];
    await Promise.all(
      slots.map(async ({ running }) => {
        running.child.kill('SIGTERM');
        await running.ended;
      }),
    );
    const history = await readHistory(sql);
    return [
      ...checkFinal(history, calls, await readFinal(sql), EXPECTED),
      ...checkDecisions(history, decisions),
      ...checkFair(history, RATES).wrong,
      ...checkLimits(history, LIMITS).wrong,
      ...(await findDoubledChildren(sql)),
    ];
  };

  try {
    await sql('create table public.once_effects (key text)');
    await sql('create table public.transaction_effects (run_id bigint)');
    await sql('create table public.messages (run_id bigint, fence integer)');
    await sql('create table public.begun (fence integer)');
    await sql('create table public.let_go (until integer)');
    for (const alteration of options.alterations ?? []) await alter(sql, alteration);
    // The database's clock is hours away from the host's, and leaps forward when the driver says so.
    await sql(`create table tock.test_shift as select interval '-3 hours' as by`);
    await sql(`create or replace function tock.now() returns timestamptz language sql stable
      as $$ select statement_timestamp() + (select by from tock.test_shift) $$`);
    // Its runs are of the three hours before now too, which may be of last month.
    await sql('select tock.create_partitions()');
    await recordHistory(sql);
    await ('story' in faults ? faults.story(hands) : drive(faults.steps));
    const wrong = await becomeQuiet();
    const history = await readHistory(sql);
    const count = (test: (event: HistoryEvent) => boolean) => history.filter(test).length;
    return {
      wrong,
      processes: born,
      claims: count(({ old, new: row }) => row?.status === 'running' && row.fence !== old?.fence),
      reaped: count(
        ({ old, new: row }) =>
          row?.status === 'failed' &&
          row.errors?.at(-1)?.code === 'TOCK_LEASE_LOST' &&
          old?.status === 'running',
      ),
      ended: count(({ place, move }) => place === 'finished' && move === 'insert'),
      ...countHandOffs(history),
      waits: countWaits(history),
      fairStarts: checkFair(history, RATES).starts,
    };
  } finally {
    for (const { running } of slots) running.child.kill('SIGKILL');
    await Promise.all(slots.map(each => each.running.ended));
    await pool.end();
    await test.close();
  }
}
