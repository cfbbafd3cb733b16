// Store: only the winner of a compare-and-set writes a flip; deliveries of one minute share a run.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { judge } from '../../../src/model/alerts/judge.js';
import { readAlertStates } from '../../../src/store/alerts/evaluation.js';
import { enqueueDeliveries, type WrittenChange, writeChanges } from '../../../src/store/alerts/flips.js';
import type { Database } from '../../../src/store/connection/database.js';
import { openDatabase } from '../../support/database.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const NOON = '2026-03-09T12:00:00Z';
const now = Date.parse(NOON);
const test = openForEach(reuseTestTock);
let database: Database;
beforeEach(async () => {
  await test.setClock(NOON);
  database = openDatabase({ connectionString: test.url });
});
afterEach(async () => {
  await database.close();
});

const options = { rule: 'late', remindMs: null, isMuted: false, now };
const seen = (isDown: boolean) => ({ subject: 'report', isDown, detail: isDown ? 'late' : 'in time' });
const read = async () =>
  (await readAlertStates.run(database, { rules: ['late'], subjects: ['report'], limit: 10 }))[0] ?? null;
const changeTo = async (isDown: boolean): Promise<WrittenChange> => {
  const change = judge(await read(), seen(isDown), options);
  if (change === null) throw new Error('nothing changes');
  return { ...change, condition: 'late' };
};
const write = (change: WrittenChange) =>
  database.transaction(session => writeChanges(session, [change], now));
const kinds = async () =>
  (await test.sql<{ kind: string }>('select kind from tock.alert_flips order by id')).map(row => row.kind);

describe('writeChanges', () => {
  it('lets one of many win, for a new state and for a known one', async () => {
    for (const isDown of [true, false, true]) {
      const change = await changeTo(isDown);
      const won = await Promise.all(Array.from({ length: 5 }, () => write(change)));
      expect(won.flat()).toMatchObject([{ rule: 'late', subject: 'report' }]);
    }
    expect(await kinds()).toEqual(['down', 'up', 'down']);
    expect(await read()).toMatchObject({
      status: 'down',
      version: 3,
      since: now,
      notifiedAt: now,
      detail: 'late',
    });
  });

  it('writes nothing over a state that has changed since it was read', async () => {
    await write(await changeTo(true));
    const old = await changeTo(false);
    await write(old);
    await write(await changeTo(true));
    expect(await write(old)).toEqual([]);
    expect(await read()).toMatchObject({ status: 'down', version: 3 });
  });

  it('says of a recovery since when it had been down', async () => {
    await write(await changeTo(true));
    const change = await changeTo(false);
    await write({ ...change, state: { ...change.state, since: now + 60_000 } });
    expect(await test.sql('select kind, since from tock.alert_flips order by id')).toEqual([
      { kind: 'down', since: new Date(now) },
      { kind: 'up', since: new Date(now) },
    ]);
  });
});

describe('enqueueDeliveries', () => {
  const flip = async () => {
    const rows = await test.sql<{ id: string }>(
      `insert into tock.alert_flips (rule, condition, subject, kind, at, since, detail)
       values ('late', 'late', 'report', 'down', tock.now(), tock.now(), 'x') returning id::text`,
    );
    return rows[0]?.id ?? '';
  };
  const notify = async (...channels: string[]) => {
    const flipId = await flip();
    await database.transaction(session =>
      enqueueDeliveries(
        session,
        channels.map(channel => ({ flipId, channel })),
        7,
      ),
    );
  };
  const runs = () =>
    test.sql<{ id: string; channel: string; inS: number; flips: number }>(
      `select r.id::text, r.payload ->> 'channel' as channel, extract(epoch from r.run_at - tock.now())::int as "inS",
         (select count(*)::int from tock.alert_deliveries d where d.run_id = r.id) as flips
       from tock.job_runs_live r order by r.id`,
    );

  it('enqueues one run for each channel, in the queue of alerts', async () => {
    await notify('mail', 'slack');
    expect(await runs()).toMatchObject([
      { channel: 'mail', inS: 0, flips: 1 },
      { channel: 'slack', inS: 0, flips: 1 },
    ]);
    expect(await test.sql('select distinct job, queue, max_attempts from tock.job_runs_live')).toEqual([
      { job: 'tock:deliver-alert', queue: 'tock:alerts', max_attempts: 7 },
    ]);
  });

  it('adds to the run that has not begun, and else makes one for a minute later', async () => {
    await notify('mail');
    await notify('mail');
    expect(await runs()).toMatchObject([{ inS: 0, flips: 2 }]);
    await test.sql(`update tock.job_runs_live set attempts = 1, status = 'failed'`);
    await test.advance('10s');
    await notify('mail');
    await notify('mail');
    expect(await runs()).toMatchObject([{ flips: 2 }, { inS: 50, flips: 2 }]);
  });

  it('adds nothing to a run that a worker is claiming at this moment', async () => {
    await notify('mail');
    await database.transaction(async session => {
      await session.run('select from tock.job_runs_live for update');
      await notify('mail');
    });
    expect(await runs()).toMatchObject([{ flips: 1 }, { flips: 1 }]);
  });
});
