// Chaos: the clock changes, and a leap day comes, while everything runs: the server, a daemon and ticks, under a clock
// that runs sixty times as fast, so that a minute takes a second. Debian's package faketime.
import { describe, expect, it } from 'vitest';
import { createTock } from '../../src/index.js';
import { expected, type MadeCron, scan } from '../model/schedule/oracle.js';
import { lacks } from '../support/needs.js';
import { bundleJobs, CLI, type Running, TICK } from '../support/processes.js';
import { proveAll } from '../support/prove-all.js';
import { until } from '../support/until.js';
import { type FastServer, openFastServer } from './fast-clock.js';
import { jobs } from './summer-time-jobs.js';

const ZONE = 'Europe/Berlin';
const SPEED = 60;
const MODES = ['once', 'skip', 'literal'] as const;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ANY = { dates: range(1, 31), months: range(1, 12), weekdays: range(0, 6) };

function range(from: number, to: number, step = 1): number[] {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
}
/** An expression beside what it means, stated by hand: the oracle reads no expressions. */
const made = (
  text: string,
  minutes: readonly number[],
  hours: readonly number[],
  rest: Partial<Record<keyof typeof ANY, readonly number[]>> = {},
): MadeCron => ({
  text,
  minutes: new Set(minutes),
  hours: new Set(hours),
  dates: new Set(rest.dates ?? ANY.dates),
  months: new Set(rest.months ?? ANY.months),
  weekdays: new Set(rest.weekdays ?? ANY.weekdays),
  starred: rest.dates === undefined || rest.weekdays === undefined,
});

const AROUND_TWO = [
  made('* * * * *', range(0, 59), range(0, 23)),
  made('*/2 2 * * *', range(0, 59, 2), [2]),
  made('1,58 1-3 * * *', [1, 58], [1, 2, 3]),
  made('2 2,3 * * *', [2], [2, 3]),
  made('0 3 28,31 3,10 *', [0], [3], { dates: [28, 31], months: [3, 10] }),
];
const FEBRUARY = [
  made('1,58 * 29 2 *', [1, 58], range(0, 23), { dates: [29], months: [2] }),
  made('0 0 29 2 *', [0], [0], { dates: [29], months: [2] }),
  made('59 23 28,29 2 *', [59], [23], { dates: [28, 29], months: [2] }),
  // The last day of a month, which this year is the 29th.
  made('58 23 L 2 *', [58], [23], { dates: [29], months: [2] }),
  made('1 0 * 3 *', [1], [0], { months: [3] }),
  made('2 0 * * 2,3', [2], [0], { weekdays: [2, 3] }),
];

/** Spans of time through which everything runs; between two of them nothing does, the server neither. */
const CHANGES = {
  'the hour that is left out in spring': {
    crons: AROUND_TWO,
    spans: [['2027-03-28T00:57:00Z', '2027-03-28T01:03:00Z']],
  },
  'the hour that comes twice in autumn': {
    crons: AROUND_TWO,
    spans: [['2027-10-31T00:57:00Z', '2027-10-31T01:03:00Z']],
  },
  'the 29th of February, with all stopped during the day': {
    crons: FEBRUARY,
    spans: [
      ['2028-02-28T22:57:00Z', '2028-02-28T23:01:30Z'],
      ['2028-02-29T22:57:00Z', '2028-02-29T23:02:00Z'],
    ],
  },
} as const;

/** A daemon, and a tick each minute, until all up to `end` is done. */
async function liveUntil(server: FastServer, jobs: string, end: string): Promise<number> {
  const env = {
    DATABASE_URL: server.url,
    TOCK_JOBS: jobs,
    TOCK_LEASE: '1h',
    TOCK_LOG_LEVEL: 'silent',
  };
  const ticks: Running[] = [];
  // It polls every second of its own timers, which is a minute of the clock; NOTIFY is for what is enqueued.
  const daemon = await server.start(CLI, env, ['start', '--no-listen', '--json']);
  try {
    const isOver = async () => {
      expect(daemon.child.exitCode, daemon.output()).toBeNull();
      // As cron does, whatever became of the one before; but no more than the machine can take.
      const tick = await server.start(TICK, env, []);
      ticks.push(tick);
      const minute = new Promise(resolve => setTimeout(resolve, 60_000 / SPEED));
      await Promise.all([minute, ticks.length > 3 ? ticks.at(-3)?.ended : null]);
      const [row] = await server.sql<{ over: boolean }>(
        `select tock.now() > $1 and not exists (select from tock.job_definitions where next_at <= $1)
           and not exists (select from tock.job_runs_live where scheduled_for <= $1) as over`,
        [end],
      );
      return row?.over;
    };
    await until(isOver, `all up to ${end} to be done`, 120_000);
    return ticks.length;
  } finally {
    for (const { child } of [daemon, ...ticks]) child.kill('SIGTERM');
    await Promise.all([daemon, ...ticks].map(each => each.ended));
  }
}

describe.skipIf(lacks('faketime'))('a change of the clock at run time (needs Debian’s faketime)', () => {
  it.concurrent.each(Object.entries(CHANGES))(
    '%s: no occurrence is lost, and none is doubled',
    async (_name, { crons, spans }) => {
      const [first] = spans;
      const server = await openFastServer(new Date(Date.parse(first[0]) - 2 * MINUTE).toISOString(), SPEED);
      const tock = createTock({ connectionString: server.url, logger: false, jobs });
      try {
        await tock.migrate();
        const schedules = crons.flatMap((cron, index) =>
          MODES.map(dst => ({ cron, dst, name: `${index}-${dst}` })),
        );
        for (const { cron, dst, name } of schedules)
          await tock.schedules.upsert({
            name,
            job: 'noted',
            cron: cron.text,
            timezone: ZONE,
            dst,
            catchup: 'all',
            catchupWindow: '3d',
            overlap: 'allow_all',
          });
        const cursors = await server.sql<{ name: string; cursor: Date }>(
          'select name, cursor from tock.job_definitions where cron is not null',
        );
        const module = await bundleJobs('test/chaos/summer-time-jobs.ts');
        let ticks = 0;
        for (const [start, end] of spans) {
          await server.leapTo(start);
          ticks += await liveUntil(server, module, end);
        }

        const end = Date.parse(spans.at(-1)?.[1] ?? '');
        const runs = await server.sql<{ name: string; at: Date; status: string }>(
          `select d.name, r.scheduled_for as at, r.status from tock.job_runs r join tock.job_definitions d on d.id = r.definition_id
           where r.scheduled_for <= $1 order by r.scheduled_for`,
          [new Date(end)],
        );
        const minutes = scan(ZONE, Date.parse(first[0]) - 26 * HOUR, end + 26 * HOUR);
        const iso = (instants: readonly number[]) => instants.map(at => new Date(at).toISOString());
        for (const { cron, dst, name } of schedules) {
          const from = cursors.find(each => each.name === name)?.cursor.getTime() ?? Number.NaN;
          const found = runs.filter(run => run.name === name).map(run => run.at.getTime());
          const wanted = expected(cron, minutes, dst, from + 1, end + 1);
          expect(iso(found), `${cron.text} ${dst}`).toEqual(iso(wanted));
        }
        expect(new Set(runs.map(run => run.status))).toEqual(new Set(['succeeded']));
        // Otherwise it would show nothing.
        expect(runs.length).toBeGreaterThan(20);
        expect(ticks).toBeGreaterThan(2);
        expect(await proveAll(tock)).toEqual([]);
      } finally {
        await tock.close();
        await server.remove();
      }
    },
    240_000,
  );
});
