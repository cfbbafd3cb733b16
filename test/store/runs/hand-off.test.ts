// Store: handing a run off, and the functions with which another system completes it, each by itself.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { DECIDED_UNTIL, HANDED_OFF } from '../../../src/model/run/states.js';
import { finalizeRuns, readEndedAttempts } from '../../../src/store/runs/finalize.js';
import { FIRST_DECIDED, readDecided } from '../../../src/store/runs/hand-off/decided.js';
import { renewLeases } from '../../../src/store/runs/leases.js';
import { beginReaping, reapRuns } from '../../../src/store/runs/reap/reap.js';
import { storeTest } from '../../support/open.js';
import { addRuns, REAPING, type RunRow, whileWaitedFor } from '../../support/runs.js';
import { held as heldNow, NOW, OTHER, WORKER } from './held.js';

const { test, database } = storeTest(NOW);

/** A run that WORKER holds under fence 3, due a minute before. */
const held = (row: RunRow = {}): RunRow => heldNow({ run_at: '2026-03-02T11:59:00Z', ...row });
const handOff = (ids: readonly string[], workerId = WORKER, leaseMs = 3_600_000) =>
  finalizeRuns(
    database,
    ids.map(id => ({
      id,
      fence: 3,
      outcome: {
        transition: 'handOff' as const,
        output: null,
        error: null,
        delayMs: 0,
        skipReason: null,
        handOff: { leaseMs, to: 'finance' },
      },
    })),
    workerId,
  );
/** Handed off for an hour. */
const handedOff = async (row: RunRow = {}) => {
  const [id = ''] = await addRuns(test, held(row));
  await handOff([id]);
  return id;
};
const call = async (text: string, values: unknown[]) =>
  (await test.sql<{ held: boolean }>(`select ${text} as held`, values))[0]?.held;
const runOf = async (id: string) => (await test.sql('select * from tock.job_runs where id = $1', [id]))[0];
const noteOf = async (id: string) =>
  (await test.sql('select * from tock.job_hand_offs where run_id = $1 order by fence', [id]))[0];

const decided = () => readDecided(database, { limit: 10, maxBytes: 1_000_000, after: FIRST_DECIDED });

/** Each function, with valid arguments after run and fence. */
const CALLS = [
  `tock.complete($1, $2, '{"paid":true}')`,
  `tock.fail($1, $2, 'no cover')`,
  `tock.extend($1, $2, '2 days')`,
  `tock.progress($1, $2, 0.5, 'half')`,
] as const;

describe('a handoff', () => {
  it('leaves the run running, without its worker, until its lease ends; its slots stay', async () => {
    const [id = '', other = ''] = await addRuns(test, held(), held());
    await test.sql(
      `insert into tock.job_slots values ('job:noop', 1, $1, 3), ('definition:1', 1, $1, 3), ('isolated', 1, $1, 3), ('isolated', 2, $2, 3)`,
      [id, other],
    );
    expect(await handOff([id])).toMatchObject({
      lost: new Set(),
      failed: [],
      freed: ['isolated'],
      outboxWritten: false,
    });
    const until = new Date('2026-03-02T13:00:00Z');
    expect(await runOf(id)).toMatchObject({
      status: 'running',
      fence: 3,
      attempts: 2,
      locked_by: HANDED_OFF,
      locked_until: until,
      run_at: until,
    });
    expect(await noteOf(id)).toMatchObject({
      fence: 3,
      handed_to: 'finance',
      handed_off_at: new Date(NOW),
      due_at: new Date('2026-03-02T11:59:00Z'),
      lease_until: until,
      worker_id: WORKER,
      decided_at: null,
    });
    expect(
      await test.sql('select concurrency_key as key from tock.job_slots where run_id = $1 order by 1', [id]),
    ).toEqual([{ key: 'definition:1' }, { key: 'job:noop' }]);
    expect((await runOf(other))?.['locked_by']).toBe(WORKER);
  });

  it.each([
    ['another fence', held({ fence: 4 })],
    ['another worker', held({ locked_by: OTHER })],
    ['a run that was reaped', held({ status: 'failed', locked_by: null })],
  ])('of %s changes nothing', async (_what, row) => {
    const [id = ''] = await addRuns(test, row);
    const before = await runOf(id);
    expect((await handOff([id])).lost).toEqual(new Set([id]));
    expect(await runOf(id)).toEqual(before);
    expect(await noteOf(id)).toBeUndefined();
  });

  it('is the end of the attempt for a worker that has lost the reply, whatever came of the run since', async () => {
    const id = await handedOff();
    expect(await readEndedAttempts(database, [{ id, fence: 3 }], WORKER)).toEqual(new Set([id]));
    expect(await readEndedAttempts(database, [{ id, fence: 3 }], OTHER)).toEqual(new Set());
    expect(await readEndedAttempts(database, [{ id, fence: 2 }], WORKER)).toEqual(new Set());
    await test.sql('delete from tock.job_runs_live');
    expect(await readEndedAttempts(database, [{ id, fence: 3 }], WORKER)).toEqual(new Set([id]));
  });

  it('cancels the run that an operator has asked to cancel, and no other', async () => {
    const [asked = '', other = ''] = await addRuns(
      test,
      held({ cancel_requested_at: NOW, skip_reason: 'not wanted' }),
      held(),
    );
    expect(await handOff([asked, other])).toMatchObject({ failed: [] });
    expect(await runOf(asked)).toMatchObject({ status: 'cancelled', skip_reason: 'not wanted' });
    expect(await noteOf(asked)).toBeUndefined();
    expect(await runOf(other)).toMatchObject({ status: 'running', locked_by: HANDED_OFF });
    expect(await noteOf(other)).toMatchObject({ handed_to: 'finance' });
  });

  it('takes a decision that came before it', async () => {
    const [id = ''] = await addRuns(test, held());
    expect(await call(CALLS[0], [id, 3])).toBe(true);
    expect(await decided()).toEqual([]);
    await handOff([id]);
    expect(await runOf(id)).toMatchObject({
      locked_until: new Date(DECIDED_UNTIL),
      run_at: new Date('2026-03-02T11:59:00Z'),
    });
    expect(await decided()).toMatchObject([
      { id, fence: 3, decision: 'succeeded', output: { paid: true }, attempts: 2, job: 'noop' },
    ]);
  });

  it('waits for a decision that is not committed yet, and takes it', async () => {
    const [id = ''] = await addRuns(test, held());
    await whileWaitedFor(test, `select tock.complete(${id}, 3, '1')`, () => handOff([id]));
    expect(await decided()).toMatchObject([{ id, output: 1 }]);
  });
});

it.each(CALLS)(
  'a call before the handoff, in a transaction that stays open %s: the worker renews its lease meanwhile',
  { tags: 'check' },
  async text => {
    const [id = ''] = await addRuns(test, held());
    const client = new pg.Client({ connectionString: test.url });
    await client.connect();
    try {
      await client.query('begin');
      expect((await client.query(`select ${text} as held`, [id, 3])).rows).toEqual([{ held: true }]);
      expect(await renewLeases(database, [{ id, fence: 3 }], WORKER, 120_000)).toMatchObject([
        { id, is_renewed: true },
      ]);
    } finally {
      await client.end();
    }
  },
);

describe('of two calls at once', () => {
  it.each([
    ['before the handoff', async () => (await addRuns(test, held()))[0] ?? ''],
    ['after it', () => handedOff()],
  ])('one decides, %s', async (_when, make) => {
    const id = await make();
    const answer = await whileWaitedFor(test, `select tock.complete(${id}, 3, '"first"')`, () =>
      call(`tock.fail($1, 3, 'second')`, [id]),
    );
    expect(answer).toBe(false);
    expect(await noteOf(id)).toMatchObject({ decision: 'succeeded', output: 'first', refused_count: 1 });
  });

  it('both hold, where the run is handed off between them', async () => {
    const [id = ''] = await addRuns(test, held());
    let handing: Promise<unknown> = Promise.resolve();
    const answer = await whileWaitedFor(
      test,
      `select tock.extend(${id}, 3, '2 days')`,
      () => {
        handing = handOff([id]);
        return call(`tock.complete($1, 3, '1')`, [id]);
      },
      () => undefined,
    );
    await handing;
    expect(answer).toBe(true);
    expect(await decided()).toMatchObject([{ id, output: 1 }]);
  });
});

describe('the functions', () => {
  it.each(CALLS)(
    '%s holds under the run and its fence, and under no other',
    { tags: 'check' },
    async text => {
      const id = await handedOff();
      const [run, note] = [await runOf(id), await noteOf(id)];
      for (const [forgedId, fence] of [
        [id, 2],
        [id, 4],
        [id, null],
        [null, 3],
        ['999999', 3],
      ] as const)
        expect(await call(text, [forgedId, fence])).toBe(false);
      expect(await runOf(id)).toEqual(run);
      expect(await noteOf(id)).toEqual(note);
      expect(await call(text, [id, 3])).toBe(true);
    },
  );

  it.each(CALLS)('%s is refused once the lease has ended, and counted', { tags: 'check' }, async text => {
    const id = await handedOff();
    await test.advance('61m');
    const run = await runOf(id);
    expect(await call(text, [id, 3])).toBe(false);
    expect(await runOf(id)).toEqual(run);
    expect(await noteOf(id)).toMatchObject({
      decided_at: null,
      refused_count: 1,
      refused_at: new Date('2026-03-02T13:01:00Z'),
    });
  });

  it.each(CALLS)('%s is refused once the outcome is decided, and counted', { tags: 'check' }, async text => {
    const id = await handedOff();
    await call(CALLS[0], [id, 3]);
    const run = await runOf(id);
    expect(await call(text, [id, 3])).toBe(false);
    expect(await runOf(id)).toEqual(run);
    expect(await noteOf(id)).toMatchObject({
      decision: 'succeeded',
      output: { paid: true },
      refused_count: 1,
    });
  });

  it('complete and fail keep the run until a tick writes it, whatever becomes of the lease', async () => {
    const id = await handedOff();
    await call(CALLS[0], [id, 3]);
    expect(await runOf(id)).toMatchObject({
      status: 'running',
      locked_by: HANDED_OFF,
      locked_until: new Date(DECIDED_UNTIL),
      run_at: new Date('2026-03-02T11:59:00Z'),
    });
    await test.advance('400d');
    expect(
      await database.transaction(async session => ({
        ...(await beginReaping(session)),
        ...(await reapRuns(session, REAPING)),
      })),
    ).toMatchObject({ failed: 0, dead: 0, hasDecided: true });
  });

  it('belong to the transaction of the caller', async () => {
    const id = await handedOff();
    const client = new pg.Client({ connectionString: test.url });
    await client.connect();
    try {
      await client.query('begin');
      await client.query('select tock.complete($1, 3)', [id]);
      await client.query('rollback');
      expect(await noteOf(id)).toMatchObject({ decided_at: null });
      expect(await call('tock.extend($1, 3, $2)', [id, '2 hours'])).toBe(true);
    } finally {
      await client.end();
    }
  });

  it('extend never shortens a lease, and moves run_at with it', async () => {
    const id = await handedOff();
    expect(await call(`tock.extend($1, 3, '30 minutes')`, [id])).toBe(true);
    expect((await runOf(id))?.['locked_until']).toEqual(new Date('2026-03-02T13:00:00Z'));
    expect(await call(`tock.extend($1, 3, '2 days')`, [id])).toBe(true);
    const until = new Date('2026-03-04T12:00:00Z');
    expect(await runOf(id)).toMatchObject({ locked_until: until, run_at: until });
  });

  it('progress bounds the fraction and cuts the note', async () => {
    const id = await handedOff();
    await test.sql(`update tock.job_runs_live set progress = '{"events":"odd"}'`);
    expect(await call('tock.progress($1, 3, 7, $2)', [id, 'n'.repeat(300)])).toBe(true);
    expect((await runOf(id))?.['progress']).toEqual({ fraction: 1, stage: 'n'.repeat(200), events: 1 });
    expect(await call('tock.progress($1, 3, -1)', [id])).toBe(true);
    expect((await runOf(id))?.['progress']).toEqual({ fraction: 0, stage: null, events: 2 });
  });

  it.each([
    [
      `tock.complete($1, 3, to_jsonb(repeat('x', 1600000)))`,
      /^result of \d+ bytes is over the limit of 1 MiB$/,
    ],
    [`tock.complete($1, 3, '{"id":9007199254740993}')`, /^the result holds a number over 2\^53/],
    [
      `tock.complete($1, 3, (repeat('[', 202) || repeat(']', 202))::jsonb)`,
      /^the result is nested deeper than 200 levels$/,
    ],
    [`tock.fail($1, 3, '')`, /^message is missing$/],
    [`tock.fail($1, 3, null)`, /^message is missing$/],
    [`tock.fail($1, 3, 'no', details => '[]')`, /^details must be an object$/],
    [`tock.fail($1, 3, 'no', retry => false, retry_at => now())`, /^retry_at must be within 30 years/],
    [`tock.fail($1, 3, 'no', retry_at => 'infinity')`, /^retry_at must be within 30 years/],
    [`tock.extend($1, 3, '0')`, /^the lease must be between 1 second and 366 days$/],
    [`tock.extend($1, 3, '-1 day')`, /^the lease must be between 1 second and 366 days$/],
    [`tock.extend($1, 3, '367 days')`, /^the lease must be between 1 second and 366 days$/],
    [`tock.extend($1, 3, null)`, /^the lease must be between 1 second and 366 days$/],
    [`tock.progress($1, 3, 'NaN')`, /^the fraction must be a number from 0 to 1$/],
    [`tock.progress($1, 3, null)`, /^the fraction must be a number from 0 to 1$/],
  ])('%s is an error, and changes nothing', { tags: 'check' }, async (text, message) => {
    const id = await handedOff();
    const [run, note] = [await runOf(id), await noteOf(id)];
    await expect(call(text, [id])).rejects.toThrow(message);
    expect([await runOf(id), await noteOf(id)]).toEqual([run, note]);
  });

  it('leave a run of tock exec alone', async () => {
    const [id = ''] = await addRuns(test, held({ trigger: 'exec' }));
    for (const text of CALLS) expect(await call(text, [id, 3])).toBe(false);
  });

  it('know the same constants as the code', async () => {
    const [row] = await test.sql<{ text: string }>(
      `select string_agg(prosrc, ' ') as text from pg_proc where pronamespace = 'tock'::regnamespace and proname in ('lock_handed_off', 'decide')`,
    );
    expect(row?.text).toContain(`'${HANDED_OFF}'`);
    expect(new Date(/'(9999-\d\d-\d\dZ)'/.exec(row?.text ?? '')?.[1] ?? '')).toEqual(new Date(DECIDED_UNTIL));
  });
});

it('a role that completes runs may call the four functions, and nothing else', async () => {
  const id = await handedOff();
  const role = `completer_${process.pid}_${Date.now()}`;
  await test.sql(`create role ${role} login password 'secret'`);
  await test.sql(`grant usage on schema tock to ${role}`);
  await test.sql(`grant execute on function tock.complete, tock.fail, tock.extend, tock.progress to ${role}`);
  const url = new URL(test.url);
  [url.username, url.password] = [role, 'secret'];
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    for (const text of [
      'select from tock.job_hand_offs',
      'select from tock.job_runs_live',
      'update tock.job_runs_live set fence = 9',
      `select tock.decide(${id}, 3, 'succeeded', null, null, null)`,
      `select tock.lock_handed_off(${id}, 3)`,
      `select tock.enqueue('noop')`,
    ])
      await expect(client.query(text)).rejects.toThrow(/permission denied/);
    expect((await client.query('select tock.progress($1, 3, 0.5) as held', [id])).rows).toEqual([
      { held: true },
    ]);
    // Objects of the role's own do not take the place of Tock's.
    await client.query(`create temp table job_runs_live (id bigint)`);
    await client.query(`set search_path = pg_temp, public`);
    expect((await client.query('select tock.complete($1, 3) as held', [id])).rows).toEqual([{ held: true }]);
  } finally {
    await client.end();
    await test.sql(`drop owned by ${role}`);
    await test.sql(`drop role ${role}`);
  }
});

it('reaping does not take a run that is handed off for one that ends processes', async () => {
  const lost = { name: 'LeaseExpired', code: 'TOCK_LEASE_LOST', at: NOW, attempt: 1, message: 'lost' };
  const id = await handedOff({ errors: JSON.stringify([lost]) });
  await test.advance('2h');
  const options = { ...REAPING, backoffMs: 1, maxBackoffMs: 1, canIsolate: true };
  expect(await database.transaction(session => reapRuns(session, options))).toMatchObject({ failed: 1 });
  expect(await runOf(id)).toMatchObject({ status: 'failed', slot_keys: null, locked_by: null });
  await test.sql(
    `update tock.job_runs_live set status = 'running', fence = 4, locked_by = $1, locked_until = tock.now() - interval '1 s', run_at = tock.now()`,
    [OTHER],
  );
  await test.advance('1s');
  expect(await database.transaction(session => reapRuns(session, options))).toMatchObject({ failed: 1 });
  // The handoff before was no process either.
  expect((await runOf(id))?.['slot_keys']).toBeNull();
});
