// Engine: why, asked of the calendar: summer time, times that are no occurrence, whole days, what cannot be asked.
import { describe, expect, it } from 'vitest';
import { defineJob, type JobSchedule, type Tock, type Why } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const scheduled = (name: string, schedule?: JobSchedule, run: () => unknown = () => null) =>
  defineJob({ name, ...(schedule === undefined ? {} : { schedule }), retry: { maxAttempts: 1 }, run });

const test = openForEach(reuseTestTock, ({ setClock }) => setClock('2026-03-01T12:00:30Z'));

/** A tick registers, then another one at `clock` does what is due. */
async function tickAt(tock: Tock, clock: string): Promise<void> {
  await tock.tick();
  await test.setClock(clock);
  await tock.tick();
}
const told = ({ sentences }: Why) => sentences.join('\n');

describe('summer time in New York', () => {
  const newYork = (dst: 'once' | 'skip' | 'literal', cron: string) =>
    scheduled(`${dst}-${cron.startsWith('30 2') ? 'gap' : 'overlap'}`, {
      cron,
      timezone: 'America/New_York',
      dst,
      catchup: 'all',
      catchupWindow: '365d',
    });
  const jobs = (['once', 'skip', 'literal'] as const).flatMap(dst => [
    newYork(dst, '30 2 * * *'),
    newYork(dst, '30 1 * * *'),
  ]);

  it('tells what each mode makes of a time in the gap', async () => {
    const tock = test.another({ jobs });
    await tickAt(tock, '2026-03-08T12:00:00Z');
    const once = await tock.why('once-gap', '2026-03-08T02:30');
    expect(once).toMatchObject({
      verdict: 'succeeded',
      local: '2026-03-08 02:30',
      instant: new Date('2026-03-08T07:30:00Z'),
    });
    expect(once.sentences[0]).toBe(
      '2026-03-08 02:30 does not exist in America/New_York: the clocks go from 02:00 to 03:00; under dst once the occurrence is at 2026-03-08 03:30 (2026-03-08T07:30:00Z)',
    );
    expect((await tock.why('once-gap', '2026-03-08T07:30:00Z')).sentences[0]).toBe(once.sentences[0]);
    for (const dst of ['skip', 'literal']) {
      const why = await tock.why(`${dst}-gap`, '2026-03-08T02:30');
      expect(why).toMatchObject({ verdict: 'nonexistent', instant: null, run: null });
      expect(told(why)).toContain(`under dst ${dst} it has no occurrence`);
      expect((await tock.why(`${dst}-gap`, '2026-03-08')).verdict).toBe('nonexistent');
    }
    expect((await tock.why('once-gap', '2026-03-08')).verdict).toBe('succeeded');
    expect((await tock.why('once-gap', '2026-03-08T02:40')).verdict).toBe('no-occurrence');
  });

  it('tells which pass of a repeated time counts', { tags: 'check' }, async () => {
    const tock = test.another({ jobs });
    await test.setClock('2026-11-01T00:00:00Z');
    await tickAt(tock, '2026-11-01T12:00:00Z');
    for (const dst of ['once', 'skip']) {
      const why = await tock.why(`${dst}-overlap`, '2026-11-01T01:30');
      expect(why).toMatchObject({ verdict: 'succeeded', instant: new Date('2026-11-01T05:30:00Z') });
      expect(told(why)).toContain(
        `happens twice in America/New_York; under dst ${dst} the occurrence is the first pass`,
      );
      const second = await tock.why(`${dst}-overlap`, '2026-11-01T06:30:00Z');
      expect(second).toMatchObject({ verdict: 'repeated', run: null });
      expect(told(second)).toContain('only the first pass: 2026-11-01 01:30 (2026-11-01T05:30:00Z)');
    }
    const both = await tock.why('literal-overlap', '2026-11-01T01:30');
    expect(both.verdict).toBe('several');
    expect(both.occurrences.map(each => [each.instant?.toISOString(), each.verdict])).toEqual([
      ['2026-11-01T05:30:00.000Z', 'succeeded'],
      ['2026-11-01T06:30:00.000Z', 'succeeded'],
    ]);
  });

  it('loses nothing of a schedule that covers all hours', { tags: 'check' }, async () => {
    const job = scheduled('hourly', { cron: '0 * * * *', timezone: 'America/New_York' });
    const tock = test.another({ jobs: [job] });
    await tickAt(tock, '2026-03-08T12:00:00Z');
    const why = await tock.why('hourly', '2026-03-08T02:00');
    expect(why.verdict).toBe('nonexistent');
    expect(told(why)).toContain('follows real time, so nothing is lost');
    expect((await tock.why('hourly', '2026-03-08')).occurrences).toHaveLength(23);
  });
});

describe('a time that is no occurrence', () => {
  it('is explained with the occurrences around it', async () => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *' })] });
    await tock.tick();
    const why = await tock.why('hourly', '2026-03-01T13:05:00Z');
    expect(why.verdict).toBe('no-occurrence');
    expect(told(why)).toBe(
      '2026-03-01T13:05:00Z is not an occurrence\nthe previous one is 2026-03-01T13:00:00Z, the next one is 2026-03-01T14:00:00Z',
    );
  });

  it('is excluded, before startAt, or after endAt', async () => {
    const schedule = {
      cron: '0 9 * * *',
      startAt: '2026-03-05T00:00:00Z',
      endAt: '2026-03-20T00:00:00Z',
      exclude: ['2026-03-10'],
    };
    const tock = test.another({ jobs: [scheduled('daily', schedule)] });
    await tock.tick();
    expect((await tock.why('daily', '2026-03-10T09:00')).verdict).toBe('excluded');
    expect((await tock.why('daily', '2026-03-10')).verdict).toBe('excluded');
    const early = await tock.why('daily', '2026-03-04T09:00');
    expect(early.verdict).toBe('before-start');
    expect(told(early)).toContain('the schedule begins at 2026-03-05T00:00:00Z (startAt)');
    expect((await tock.why('daily', '2026-03-21T09:00')).verdict).toBe('after-end');
  });

  it('may still have a run of an earlier version', { tags: 'check' }, async () => {
    const tock = test.another({ jobs: [scheduled('daily', { cron: '0 13 * * *' })] });
    await tickAt(tock, '2026-03-01T13:00:00Z');
    const edited = test.another({ jobs: [scheduled('daily', { cron: '0 15 * * *' })] });
    await test.setClock('2026-03-01T14:00:00Z');
    await edited.tick();
    const why = await edited.why('daily', '13:00');
    expect(why).toMatchObject({ verdict: 'succeeded', run: { status: 'succeeded' } });
    expect(told(why)).toContain('an earlier version');
    expect(told(why)).toContain('it is at version 2');
  });
});

describe('a whole day', () => {
  it('is explained occurrence by occurrence', async () => {
    const tock = test.another({ jobs: [scheduled('sixes', { every: '6h' })] });
    await tickAt(tock, '2026-03-01T18:00:00Z');
    const why = await tock.why('sixes', '2026-03-01');
    expect(why).toMatchObject({ verdict: 'several', local: '2026-03-01', instant: null, run: null });
    expect(why.occurrences.map(each => each.verdict)).toEqual([
      'before-definition',
      'before-definition',
      'before-definition',
      'succeeded',
    ]);
    expect(told(why)).toBe('4 times on 2026-03-01 in UTC: 3 before-definition, 1 succeeded');
  });

  it('stops at a hundred, and says of an empty one what is around it', async () => {
    const tock = test.another({
      jobs: [scheduled('minutely', { cron: '* * * * *' }), scheduled('monthly', { cron: '0 0 1 * *' })],
    });
    await tock.tick();
    const why = await tock.why('minutely', '2026-03-02');
    expect(why.occurrences).toHaveLength(100);
    expect(told(why)).toContain('only the first 100 are explained');
    const none = await tock.why('monthly', '2026-03-02');
    expect(none.verdict).toBe('no-occurrence');
    expect(told(none)).toContain('the previous one is 2026-03-01T00:00:00Z');
  });
});

describe('what cannot be asked', () => {
  it.each([
    '',
    'yesterday',
    '25:00',
    '2026-02-30',
    '2026-02-30T10:00',
    '2026-03-01T10:00:00+99:00',
    '1726-01-01',
  ])('refuses %j as a time', { tags: 'check' }, async time => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *' })] });
    await tock.tick();
    await expect(tock.why('hourly', time)).rejects.toMatchObject({ code: 'TOCK_BAD_TIME' });
  });

  it('refuses a name that is not in the database, and says when code has it', async () => {
    const tock = test.another({ jobs: [scheduled('hourly', { cron: '0 * * * *' })] });
    await expect(tock.why('hourly', '13:00')).rejects.toMatchObject({
      code: 'TOCK_UNKNOWN_JOB',
      message: expect.stringContaining('the next tick registers it'),
    });
    await expect(tock.why('nobody', '13:00')).rejects.toMatchObject({ code: 'TOCK_UNKNOWN_JOB' });
  });
});
