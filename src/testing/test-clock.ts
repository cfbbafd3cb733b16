// The clock of a test's database, tock.now(), as the test sets it.
import { type Duration, parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import { readInstant } from '../model/schedule/instant-text.js';
import { readClock } from '../store/connection/clock.js';
import type { Database } from '../store/connection/database.js';

/** `tock.now()` of the test's database. It runs until it is set. */
export interface TestClock {
  readonly now: () => Promise<Date>;
  /**
   * Stops the clock at a Date or ISO text. Once the jobs are registered it only goes forward.
   * @throws TockError TOCK_BAD_TIME, TOCK_BAD_SCHEDULE
   */
  readonly set: (instant: Date | string) => Promise<void>;
  /** Moves the clock forward and stops it. Executes nothing. @throws TockError TOCK_BAD_DURATION */
  readonly advance: (duration: Duration) => Promise<void>;
  /** Lets the clock run again, at the server's real time. */
  readonly run: () => Promise<void>;
}

/** Marks a database, or a schema, that the kit has made. Without the mark no clock is changed. */
export const DATABASE_MARK = 'made by pg-tock/testing, for one test';
export const SCHEMA_MARK = 'made_for_one_test';

const IS_OURS = `
select (to_regclass($2) is not null or exists (
  select from pg_database d where d.datname = current_database() and shobj_description(d.oid, 'pg_database') = $1)) as yes`;

const SETTABLE = `
create table tock.test_clock (at timestamptz);
insert into tock.test_clock values (null);
create or replace function tock.now() returns timestamptz language sql stable
as $$ select coalesce((select at from tock.test_clock), statement_timestamp()) $$`;

/**
 * Replaces the real clock with a settable one.
 * @throws TockError TOCK_BAD_STATE if the kit made neither the database nor the schema
 */
export async function installClock(database: Database): Promise<TestClock> {
  const marks = [DATABASE_MARK, `"${database.schema}".${SCHEMA_MARK}`];
  const [isOurs] = await database.run<{ yes: boolean }>(IS_OURS, marks);
  if (!isOurs?.yes) {
    throw new TockError(
      'TOCK_BAD_STATE',
      `the clock of schema ${database.schema} cannot be set: neither it nor its database was made by pg-tock/testing; open the test's Tock with openTestTock`,
    );
  }
  await database.run(SETTABLE);
  const stand = async (expression: string, value: string | number) => {
    await database.run(`update tock.test_clock set at = ${expression}`, [value]);
  };
  return {
    now: () => readClock(database),
    set: async instant => await stand('$1', new Date(readInstant(instant, 'the clock')).toISOString()),
    advance: async duration =>
      await stand(`tock.now() + $1 * interval '1 millisecond'`, parseDuration(duration)),
    run: async () => {
      await database.run('update tock.test_clock set at = null');
    },
  };
}

/** From a clock that runs, a test may read a time and set it a moment later. */
const WHILE_READING_MS = 60_000;

/** The clock as a test may set it: schedules that have begun never come to what is before them. */
export function forwardClock(database: Database, clock: TestClock): TestClock {
  return {
    ...clock,
    set: async instant => {
      const wanted = readInstant(instant, 'the clock');
      const [begun] = await database.run<{ runs: boolean }>(
        'select at is null as runs from tock.test_clock where exists (select from tock.job_definitions)',
      );
      const now = (await clock.now()).getTime();
      if (begun && wanted < now - (begun.runs ? WHILE_READING_MS : 0))
        throw new TockError(
          'TOCK_BAD_TIME',
          `the clock is at ${new Date(now).toISOString()}, and the schedules have begun: set it to a later time, or before the first drain`,
        );
      await clock.set(new Date(wanted));
    },
  };
}
