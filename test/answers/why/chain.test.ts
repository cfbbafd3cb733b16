// Engine: why a definition that runs after others ran, or did not, for an occurrence of theirs.
import { beforeEach, describe, expect, it } from 'vitest';
import { type After, type AnyJob, Dead, defineJob, type JobSchedule, type Why } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const test = openForEach(reuseTestTock);
/** Jobs whose next runs are to end dead. */
let failing: Set<string>;
beforeEach(async () => {
  failing = new Set();
  await test.setClock('2026-03-01T11:59:30Z');
});

const parent = (name: string, schedule: JobSchedule = { cron: '0 * * * *' }): AnyJob =>
  defineJob({
    name,
    schedule: { catchup: 'all', ...schedule },
    run: () => {
      if (failing.has(name)) throw new Dead('no');
    },
  });
const child = (name: string, after: After, more: JobSchedule = {}): AnyJob =>
  defineJob({ name, schedule: { after, ...more }, run: () => null });
const open = async (...jobs: AnyJob[]) => {
  const tock = test.another({ jobs });
  await tock.tick();
  await test.advance('30s');
  return tock;
};
const told = ({ sentences }: Why) => sentences.join('\n');

describe('why of a chain', () => {
  it('tells what it ran after, with their runs, and of its own', async () => {
    const tock = await open(parent('load'), parent('clean'), child('report', ['load', 'clean']));
    await tock.tick();
    const why = await tock.why('report', '12:00');
    expect(why).toMatchObject({ verdict: 'succeeded', local: '2026-03-01 12:00', run: { trigger: 'chain' } });
    expect(why.instant).toEqual(new Date('2026-03-01T12:00:00Z'));
    expect(why.sentences[0]).toBe('it runs after clean and load');
    expect(why.sentences[1]).toMatch(/^clean: run \d+ succeeded$/);
    expect(why.sentences[2]).toMatch(/^load: run \d+ succeeded$/);
    expect(why.sentences[3]).toMatch(/^run \d+: it succeeded \(made by chain\)/);
  });

  it('says what it still waits for', async () => {
    const tock = await open(
      parent('load'),
      parent('slow', { cron: '0 * * * *', jitter: '59m' }),
      child('report', ['load', 'slow']),
    );
    await tock.tick();
    const why = await tock.why('report', '12:00');
    expect(why).toMatchObject({ verdict: 'waiting', run: null });
    expect(told(why)).toMatch(/load: run \d+ succeeded\nslow: run \d+ is queued\nit waits for slow$/);
    await tock.schedules.pause('slow', { note: 'stocktaking' });
    const next = await tock.why('report', '13:00');
    expect(next.verdict).toBe('waiting');
    expect(told(next)).toContain('(stocktaking): it makes no runs until it is resumed');
  });

  it('is still to come while they are, over several links', async () => {
    const tock = await open(parent('load'), child('clean', 'load'), child('report', 'clean'));
    const why = await tock.why('report', '2026-03-01T15:00:00Z');
    expect(why.verdict).toBe('upcoming');
    expect(told(why)).toContain('clean: it waits for load');
  });

  it('says that it was skipped for their outcome, and which that was', { tags: 'check' }, async () => {
    failing.add('load');
    const tock = await open(
      parent('load'),
      child('report', 'load'),
      child('alarm', { any: 'load', on: 'failure' }),
    );
    await tock.tick();
    const why = await tock.why('report', '12:00');
    expect(why).toMatchObject({ verdict: 'skipped', run: { skipReason: 'chain' } });
    expect(told(why)).toMatch(/load: run \d+ is dead\n.*what it was to run after did not end as it asks/);
    const alarm = await tock.why('alarm', '12:00');
    expect(alarm.verdict).toBe('succeeded');
    expect(alarm.sentences[0]).toBe('it runs after load (on failure)');
    failing.clear();
    await tock.runs.retry((await tock.runs.list({ status: 'dead' }))[0]?.id ?? '');
    await tock.tick();
    expect((await tock.why('report', '12:00')).verdict).toBe('succeeded');
  });

  it('knows that a time is none of theirs, or not of all of them', { tags: 'check' }, async () => {
    const tock = await open(
      parent('hourly'),
      parent('daily', { cron: '0 12 * * *' }),
      child('both', ['hourly', 'daily']),
      child('either', { any: ['hourly', 'daily'] }),
    );
    await tock.tick();
    await test.advance('1h');
    await tock.tick();
    const both = await tock.why('both', '13:00');
    expect(both.verdict).toBe('no-occurrence');
    expect(told(both)).toMatch(
      /daily: it has no occurrence then\nhourly: run \d+ succeeded\nso there is no occurrence that it could run for/,
    );
    expect((await tock.why('both', '12:30')).verdict).toBe('no-occurrence');
    expect((await tock.why('either', '13:00')).verdict).toBe('succeeded');
    const day = await tock.why('either', '2026-03-01');
    expect(day).toMatchObject({ verdict: 'several', local: '2026-03-01' });
    expect(day.sentences).toEqual(['2 times on 2026-03-01 in UTC: 2 succeeded']);
    // The hours that only one of them has are not worth an answer each.
    expect(await tock.why('both', '2026-03-01')).toMatchObject({
      verdict: 'succeeded',
      local: '2026-03-01 12:00',
    });
    const none = await tock.why('both', '2026-02-01');
    expect(none.verdict).toBe('no-occurrence');
    expect(told(none)).toContain(
      'there is no run of theirs on 2026-02-01 in UTC (tock why daily 2026-02-01)',
    );
  });

  it('tells a pause, a window and an overlap of its own', { tags: 'check' }, async () => {
    const tock = await open(
      parent('load'),
      child('paused', 'load'),
      child('nightly', 'load', { window: '23:00-06:00', outsideWindow: 'skip' }),
      child('later', 'load', { window: '23:00-06:00' }),
      child('lone', 'load', { overlap: 'skip', window: '23:00-06:00' }),
    );
    await tock.schedules.pause('paused');
    await tock.tick();
    await test.advance('1h');
    await tock.tick();
    expect(told(await tock.why('paused', '12:00'))).toContain('the definition was paused');
    const outside = await tock.why('nightly', '12:00');
    expect(outside.run?.skipReason).toBe('window');
    expect(told(outside)).toContain(
      "the definition's window is 23:00-06:00 (UTC), and what is outside it is skipped",
    );
    const later = await tock.why('later', '12:00');
    expect(later.verdict).toBe('queued');
    expect(told(later)).toContain("it waits for the definition's window to open: 23:00-06:00 (UTC)");
    const first = await tock.why('lone', '12:00');
    expect(told(await tock.why('lone', '13:00'))).toContain(`the run that was live then: ${first.run?.id}`);
  });

  it('says that the next tick makes what follows', async () => {
    const tock = await open(parent('load'), child('report', 'load'));
    await test.sql(
      `create function tock.hold() returns trigger language plpgsql as $$ begin raise 'held'; end $$`,
    );
    await test.sql(
      `create trigger hold before delete on tock.job_outbox for each row execute function tock.hold()`,
    );
    await tock.tick();
    const why = await tock.why('report', '12:00');
    expect(why.verdict).toBe('due');
    expect(told(why)).toContain('the next tick makes what follows (tock tick)');
    await tock.schedules.pause('report', { note: 'later' });
    const paused = await tock.why('report', '12:00');
    expect(paused.verdict).toBe('paused');
  });

  it('knows what was before the definition was made, and what is not on record', {
    tags: 'check',
  }, async () => {
    const tock = await open(parent('load'));
    await tock.tick();
    await test.advance('10m');
    const idle = child('report', 'load');
    const later = test.another({ jobs: [parent('load'), idle] });
    await later.tick();
    const before = await later.why('report', '12:00');
    expect(before.verdict).toBe('before-definition');
    expect(told(before)).toContain('made at 2026-03-01T12:10:00Z, when they had ended');
    await test.advance('1h');
    await later.tick();
    await test.sql(`delete from tock.job_runs_finished where trigger = 'chain'`);
    expect((await later.why('report', '13:00')).verdict).toBe('pruned');
    await test.sql('delete from tock.job_occurrences');
    expect((await later.why('report', '13:00')).verdict).toBe('no-record');
  });

  it('asks each definition once, however the links meet', { tags: 'check' }, async () => {
    const layers = Array.from({ length: 14 }, (_, layer) =>
      ['a', 'b'].map(side =>
        layer === 0 ? parent(`${side}0`) : child(`${side}${layer}`, [`a${layer - 1}`, `b${layer - 1}`]),
      ),
    ).flat();
    const tock = await open(...layers);
    expect((await tock.why('a13', '2026-03-01T18:00:00Z')).verdict).toBe('upcoming');
  });

  it('speaks in its own zone, and of the second pass of a local time', { tags: 'check' }, async () => {
    const tock = await open(parent('load'), child('berlin', 'load', { timezone: 'Europe/Berlin' }));
    await tock.tick();
    expect(await tock.why('berlin', '13:00')).toMatchObject({
      verdict: 'succeeded',
      local: '2026-03-01 13:00',
      instant: new Date('2026-03-01T12:00:00Z'),
    });
    const twice = await tock.why('berlin', '2026-10-25T02:00');
    expect(twice.verdict).toBe('several');
    expect(twice.occurrences.map(each => each.instant?.toISOString().slice(11, 16))).toEqual([
      '00:00',
      '01:00',
    ]);
    expect((await tock.why('berlin', '2026-03-29T02:00')).verdict).toBe('nonexistent');
  });
});
