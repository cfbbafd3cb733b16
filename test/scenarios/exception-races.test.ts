// Engine: operators and ticks that come to the same occurrence at once; and what exceptions cost who has none.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { proveAfterEach } from '../support/prove-all.js';
import { reuseTestTock } from '../support/test-tock.js';

const hourly = defineJob({
  name: 'hourly',
  schedule: { cron: '0 * * * *', overlap: 'allow_all' },
  run: () => null,
});
const test = openForEach(() => reuseTestTock([hourly]));
proveAfterEach(test);
beforeEach(async () => {
  await test.setClock('2026-03-01T12:00:30Z');
  await test.tock.register();
});
const at = (time: string) => new Date(`2026-03-01T${time}:00Z`);
const rows = async () =>
  await test.sql<{ at: string; status: string; due: string }>(
    `select to_char(scheduled_for at time zone 'UTC', 'HH24:MI') as at, coalesce(skip_reason, status) as status,
       to_char(run_at at time zone 'UTC', 'HH24:MI') as due from tock.job_runs order by scheduled_for`,
  );

describe('several operators at once', () => {
  it('skip and move the same occurrence: one after another, and the last one holds', async () => {
    const hosts = Array.from({ length: 6 }, () => test.another());
    const changes = await Promise.all(
      hosts.map((tock, index) =>
        index % 2 === 0
          ? tock.schedules.skip('hourly', at('13:00'), { note: `n${index}` })
          : tock.schedules.move('hourly', at('13:00'), at(`13:${10 + index}`), { note: `n${index}` }),
      ),
    );
    const [last, ...others] = await test.tock.schedules.exceptions('hourly');
    expect(others).toEqual([]);
    // Each but the first has replaced exactly one other: a chain, of which the stored one is the end.
    const replaced = changes.map(change => change.replaced?.note ?? 'nothing');
    expect(new Set(replaced).size).toBe(6);
    expect(replaced).toContain('nothing');
    expect(replaced).not.toContain(last?.note);
    await test.setClock(at('14:00').toISOString());
    await test.tock.tick();
    expect((await rows()).map(row => row.at)).toEqual(['13:00', '14:00']);
  });

  it('undo the same one: one does, the others learn that it is done', async () => {
    await test.tock.schedules.skip('hourly', at('13:00'));
    const answers = await Promise.allSettled(
      Array.from({ length: 4 }, () => test.another().schedules.restore('hourly', at('13:00'))),
    );
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const answer of answers)
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'TOCK_NOT_FOUND' });
  });
});

describe('a tick at the same time', () => {
  it('either makes the run, and the skip is refused, or records the skip', { tags: 'check' }, async () => {
    const hosts = Array.from({ length: 3 }, () => test.another());
    let [skipped, ran] = [0, 0];
    for (let round = 0; round < 8; round++) {
      const hour = new Date(at('13:00').getTime() + round * 3_600_000);
      await test.setClock(new Date(hour.getTime() - 1000).toISOString());
      const [answer] = await Promise.allSettled([
        test.tock.schedules.skip('hourly', hour),
        test.setClock(hour.toISOString()),
        ...hosts.map(tock => tock.tick()),
      ]);
      await test.tock.tick();
      const [row, ...others] = await test.sql<{ status: string }>(
        `select coalesce(skip_reason, status) as status from tock.job_runs where scheduled_for = $1`,
        [hour],
      );
      expect(others).toEqual([]);
      if (answer?.status === 'fulfilled') skipped++;
      else ran++;
      expect(row?.status).toBe(answer?.status === 'fulfilled' ? 'excepted' : 'succeeded');
      if (answer?.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'TOCK_BAD_STATE' });
    }
    expect(skipped + ran).toBe(8);
  });

  it('makes a moved run once, however many come', { tags: 'check' }, async () => {
    await test.tock.schedules.move('hourly', at('15:00'), at('12:30'));
    await test.tock.schedules.move('hourly', at('13:00'), at('14:30'));
    const hosts = Array.from({ length: 4 }, () => test.another());
    for (const time of ['12:30', '13:00', '14:00', '14:30', '15:00', '15:30']) {
      await test.setClock(at(time).toISOString());
      await Promise.all(hosts.map(tock => tock.tick()));
    }
    expect(await rows()).toEqual([
      { at: '13:00', due: '14:30', status: 'succeeded' },
      { at: '14:00', due: '14:00', status: 'succeeded' },
      { at: '15:00', due: '12:30', status: 'succeeded' },
    ]);
  });

  it('is refused where the run is there, with how to cancel it', async () => {
    await test.tock.schedules.pause('hourly');
    await test.tock.schedules.resume('hourly');
    await test.tock.queues.pause('default');
    await test.setClock(at('13:00').toISOString());
    await expect(test.tock.schedules.skip('hourly', at('13:00'))).rejects.toThrow(
      /is due, and the next tick makes its run, which can be cancelled then \(tock cancel\)/,
    );
    await test.tock.tick();
    await expect(test.tock.schedules.move('hourly', at('13:00'), at('13:30'))).rejects.toThrow(
      /is due already: its run \d+ is queued \(tock cancel \d+\)/,
    );
    await expect(test.tock.schedules.skip('hourly', at('11:00'))).rejects.toThrow(/has passed \(tock why/);
  });
});
