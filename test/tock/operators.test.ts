// A Tock that acts for somebody: what each role may do, below all pages; what is shown; who can act for whom.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob, type RunRecord } from '../../src/index.js';
import {
  type Action,
  mayDo,
  type Operator,
  REDACTED,
  ROLES,
  type Role,
  type Work,
} from '../../src/model/operator.js';
import type { Tock } from '../../src/tock/types.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const secret = defineJob({
  name: 'secret',
  payload: z.object({ iban: z.string() }),
  run: (_, { iban }) => ({ paid: iban }),
});
const nightly = defineJob({ name: 'nightly', schedule: { cron: '0 3 * * *', payload: {} }, run: () => null });

const test = openOnce(
  () => reuseTestTock([secret, nightly]),
  ({ tock }) => tock.register(),
);

const of = (role: Role, seesPayloads = true): Operator => ({
  name: `a ${role}`,
  via: 'page',
  role,
  seesPayloads,
});
const window = { from: '2026-03-01T00:00:00Z', to: '2026-03-02T00:00:00Z' };

/** A call of each action, on things that are not there where that is possible: the role is checked first. */
const CALLS: Readonly<Record<Action, (tock: Tock) => Promise<unknown>>> = {
  enqueue: tock => tock.enqueue('secret', { iban: 'x' }),
  'groups.continue': tock => tock.continueGroup('999'),
  'groups.retry': tock => tock.retryGroup('999'),
  'groups.cancel': tock => tock.cancelGroup('999'),
  emit: tock => tock.emit('paid', { key: 'x' }),
  complete: tock => tock.complete('999', 1),
  fail: tock => tock.fail('999', 1, 'no'),
  extend: tock => tock.extend('999', 1, '1h'),
  'runs.retry': tock => tock.runs.retry('999'),
  'runs.edit': tock => tock.runs.edit('999', { payload: {} }),
  'runs.cancel': tock => tock.runs.cancel('999'),
  'schedules.pause': tock => tock.schedules.pause('nobody'),
  'schedules.resume': tock => tock.schedules.resume('nobody'),
  'schedules.skip': tock => tock.schedules.skip('nobody', '2100-01-01'),
  'schedules.move': tock => tock.schedules.move('nobody', '2100-01-01', '2100-01-02T00:00'),
  'schedules.restore': tock => tock.schedules.restore('nobody', '2100-01-01'),
  'schedules.backfill': tock => tock.schedules.backfill('nobody', window),
  'schedules.upsert': tock => tock.schedules.upsert({ name: 'nightly', job: 'secret', cron: '0 3 * * *' }),
  'schedules.remove': tock => tock.schedules.remove('nobody'),
  'schedules.resetCursors': tock => tock.schedules.resetCursors({ names: ['nobody'] }),
  freeze: tock => tock.freeze({ until: '1h', note: '' }),
  thaw: tock => tock.thaw(),
  'queues.pause': tock => tock.queues.pause('!'),
  'queues.resume': tock => tock.queues.resume('!'),
  'keys.set': tock => tock.keys.set('', { weight: 1 }),
  'keys.reset': tock => tock.keys.reset(''),
  'keys.open': tock => tock.keys.open(''),
  'alerts.mute': tock => tock.alerts.mute('nobody', { until: '2100-01-01T00:00:00Z' }),
  'alerts.test': tock => tock.alerts.test('nobody'),
  'alerts.unmute': tock => tock.alerts.unmute('nobody'),
  'deploys.mark': tock => tock.deploys.mark('!'),
  forgetHost: tock => tock.forgetHost('nobody'),
  'calendars.set': tock => tock.calendars.set('!', { dates: [] }),
  'calendars.remove': tock => tock.calendars.remove('!'),
  'queues.set': tock => tock.queues.set('!', { concurrency: 1 }),
  'queues.reset': tock => tock.queues.reset('!'),
  'queues.remove': tock => tock.queues.remove('!'),
  prune: tock => tock.prune({ keep: 'soon' }),
  adopt: tock => tock.adopt(),
  migrate: tock => tock.migrate(),
};
const WORKS: Readonly<Record<Work, (tock: Tock) => Promise<unknown>>> = {
  'runs.wait': tock => tock.runs.wait('999', { execute: true }),
  progress: tock => tock.progress('999', 1, 0.5),
  tick: tock => tock.tick({ budget: '!' }),
  start: tock => tock.start({ concurrency: 0 }),
  register: tock => tock.register(),
};
const codeOf = async (call: Promise<unknown>) =>
  await call.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  );

describe.each(ROLES)('the role %s', role => {
  it.each([...Object.entries(CALLS), ...Object.entries(WORKS)])('and %s', async (action, call) => {
    const code = await codeOf(call(test.tock.as(of(role))));
    // What is refused for its arguments has passed the check of the role.
    expect(code === 'TOCK_FORBIDDEN').toBe(!mayDo(role, action as Action | Work));
  });

  it('reads everything', async () => {
    const tock = test.tock.as(of(role));
    expect(await tock.runs.get('999')).toBeNull();
    expect(await tock.schedules.list({ name: 'nightly' })).toHaveLength(1);
    expect(await tock.status()).toMatchObject({ isCopy: false });
    expect(await tock.audit.list({ target: 'nobody' })).toEqual([]);
    expect(await tock.schedules.backfill('nightly', { ...window, dryRun: true })).toMatchObject({ made: 0 });
    expect(await tock.schedules.resetCursors({ dryRun: true })).toEqual([]);
    expect(await tock.adopt({ dryRun: true })).toMatchObject({ isCopy: false });
  });
});

describe('who only views', () => {
  it('changes nothing and leaves no row, also with many calls at once', async () => {
    const before = await test.sql('select * from tock.audit');
    const tock = test.tock.as(of('view'));
    const codes = await Promise.all(
      Object.values(CALLS).flatMap(call => [codeOf(call(tock)), codeOf(call(tock))]),
    );
    expect(new Set(codes)).toEqual(new Set(['TOCK_FORBIDDEN']));
    expect(await test.sql('select * from tock.audit')).toEqual(before);
  });

  it('cannot act for somebody with more rights', () => {
    const tock = test.tock.as(of('view', false));
    for (const next of [of('operate', false), of('view', true)])
      expect(() => tock.as(next)).toThrow(expect.objectContaining({ code: 'TOCK_FORBIDDEN' }));
    expect(() => tock.as({ ...of('view', false), name: 'ben' })).not.toThrow();
  });
});

describe('who may not see payloads', () => {
  it('sees none, in any answer', async () => {
    const blind = test.tock.as(of('admin', false));
    const id = await blind.enqueue('secret', { iban: 'DE1' });
    const hidden = { payload: REDACTED, output: null };
    expect(await blind.runs.get(id)).toMatchObject(hidden);
    expect(await blind.runs.list({ job: 'secret', limit: 1 })).toMatchObject([hidden]);
    expect(await blind.runs.cancel(id)).toMatchObject(hidden);
    expect(await blind.runs.retry(id)).toMatchObject(hidden);
    const seen: unknown[] = [];
    const onChange = (run: RunRecord) => void seen.push(run.payload);
    const ended = await blind.runs.wait(id, { execute: true, onChange });
    expect(await blind.runs.wait(id, { onChange })).toMatchObject({ payload: REDACTED, output: REDACTED });
    expect(ended).toMatchObject({ status: 'succeeded', payload: REDACTED, output: REDACTED });
    expect(new Set(seen)).toEqual(new Set([REDACTED]));
    expect(await blind.runs.get(id)).toMatchObject({ payload: REDACTED, output: REDACTED });
    expect(await test.tock.runs.get(id)).toMatchObject({ payload: { iban: 'DE1' }, output: { paid: 'DE1' } });
  });

  it('sees none of a schedule', async () => {
    const blind = test.tock.as(of('admin', false));
    const input = { name: 'pay-mia', job: 'secret', payload: { iban: 'DE1' }, every: '1h' } as const;
    for (const answer of [
      await blind.schedules.upsert(input),
      await blind.schedules.pause('pay-mia'),
      await blind.schedules.resume('pay-mia'),
      ...(await blind.schedules.list({ name: 'pay-mia' })),
      await blind.schedules.remove('pay-mia'),
    ])
      expect(answer).toMatchObject({ name: 'pay-mia', payload: REDACTED });
    expect(JSON.stringify(await blind.audit.list())).not.toContain('DE1');
  });
});

it('many schedules at once need the role that one needs', async () => {
  const call = test.tock.as(of('operate')).schedules.upsertMany([]);
  expect(await codeOf(call)).toBe('TOCK_FORBIDDEN');
});

it('an edit by somebody who may not see payloads keeps the payload that is stored, where they send back what they were shown', async () => {
  const blind = test.tock.as(of('admin', false));
  const input = { name: 'pay-ben', job: 'secret', payload: { iban: 'DE7' }, every: '1h' } as const;
  await test.tock.schedules.upsert(input);
  const edited = await blind.schedules.upsert({ ...input, payload: REDACTED, every: '2h' });
  expect(edited).toMatchObject({ payload: REDACTED, everyMs: 7_200_000 });
  expect(await test.tock.schedules.list({ name: 'pay-ben' })).toMatchObject([{ payload: { iban: 'DE7' } }]);
  expect(await codeOf(blind.schedules.upsert({ ...input, name: 'nobody', payload: REDACTED }))).toBe(
    'TOCK_NOT_FOUND',
  );
  expect(await codeOf(blind.schedules.upsert({ ...input, payload: REDACTED }, { ifVersion: 1 }))).toBe(
    'TOCK_VERSION_CONFLICT',
  );
  const many = [{ ...input, payload: REDACTED, every: '3h' }] as const;
  expect(await blind.schedules.upsertMany(many)).toMatchObject([{ payload: REDACTED, everyMs: 10_800_000 }]);
  expect(await test.tock.schedules.list({ name: 'pay-ben' })).toMatchObject([{ payload: { iban: 'DE7' } }]);
  // Whoever sees payloads means what they write.
  expect(await codeOf(test.tock.schedules.upsert({ ...input, payload: REDACTED }))).toBe('TOCK_BAD_PAYLOAD');
});

describe('a Tock that acts for somebody', () => {
  it('shares everything else with the one that it came from', async () => {
    const other = test.another();
    const acting = other.as(of('admin'));
    expect(acting.jobs).toBe(other.jobs);
    await acting.enqueue('secret', { iban: 'x' });
    await other.close();
    expect(await codeOf(acting.runs.list())).toBe('TOCK_CLOSED');
  });

  it('executes handlers for nobody: what they enqueue is not an operator’s', async () => {
    const parent = defineJob({
      name: 'parent',
      run: async ctx => {
        await ctx.enqueue<string>('secret', { iban: 'x' });
      },
    });
    const tock = test.another({ jobs: [secret, nightly, parent] }).as({ ...of('admin'), name: 'waiting' });
    const id = await tock.enqueue('parent');
    await tock.runs.wait(id, { execute: true });
    expect(await tock.audit.list({ operator: 'waiting' })).toMatchObject([
      { action: 'enqueue', targets: [id] },
    ]);
  });

  it('is refused for what is no operator', () => {
    expect(() => test.tock.as({ name: 'x' } as Operator)).toThrow(
      expect.objectContaining({ code: 'TOCK_BAD_OPTION' }),
    );
    expect(() => test.another({ operator: '' })).toThrow(
      expect.objectContaining({ code: 'TOCK_BAD_OPTION' }),
    );
  });
});
