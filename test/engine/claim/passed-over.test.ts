// Engine: two services claim from one queue. As long as claims find plenty for this code, they pass over the
// runs of the other service.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Claims } from '../../../src/engine/claim/claims.js';
import type { Engine } from '../../../src/engine/engine.js';
import { defineJob } from '../../../src/index.js';
import { createRegistry } from '../../../src/model/job/registry.js';
import { silentLogger } from '../../../src/model/logger.js';
import { openDatabase } from '../../support/database.js';
import { openOnce } from '../../support/open.js';
import { addRuns, emptyTables, type RunRow } from '../../support/runs.js';
import { reuseTestTock } from '../../support/test-tock.js';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.js';

const job = (name: string) => defineJob({ name, run: () => null });
const invoice = job('invoice');
const restock = job('restock');

const test = openOnce(reuseTestTock);
const database = openOnce(() => openDatabase({ connectionString: test.url }));
const register = async (service: string, ...jobs: ReturnType<typeof job>[]) =>
  await test.another({ service, jobs }).register();
let clock: VirtualClock;
let opened: Claims[];
/** Texts of the claims that were sent. */
let sent: string[];
/** Whether the server refuses to say which jobs other services have. */
let isRefused: boolean;
let billing: Claims;
beforeEach(async () => {
  await emptyTables(test);
  await test.setClock('2026-03-01T12:00:00Z');
  await register('billing', invoice);
  clock = createVirtualClock({ settle: () => Promise.resolve() });
  [opened, sent, isRefused] = [[], [], false];
  billing = open('billing', invoice);
});
afterEach(() => {
  for (const claims of opened) claims.stop();
});

function open(service: string, own: ReturnType<typeof job>, goesOn = true): Claims {
  const run: typeof database.run = async (text, ...rest) => {
    if (text.includes('locked_by')) sent.push(text);
    if (isRefused && text.includes('registrations')) throw new Error('permission denied');
    return await database.run<never>(text, ...rest);
  };
  const engine = {
    clock,
    database: { ...database, run },
    registry: createRegistry([own]),
    settings: { leaseMs: 60_000, service },
    logger: silentLogger,
  };
  const claims = new Claims(engine as unknown as Engine, {
    workerId: '00000000-0000-4000-8000-000000000001',
    queues: null,
    goesOn,
    onMore: () => undefined,
  });
  opened.push(claims);
  return claims;
}

/** Adds runs of both jobs by turns. */
const addBoth = async (pairs: number, more: RunRow = {}) =>
  await addRuns(
    test,
    ...Array.from({ length: pairs }, () => [
      { job: 'invoice', ...more },
      { job: 'restock', ...more },
    ]).flat(),
  );
/** How many runs of each job the next claim brings: `invoice + restock`. */
const claim = async (room: number, claims = billing) => {
  if (!claims.hasMore) claims.ask();
  const { runs = [], needsAdmission = [] } = (await claims.next(room)) ?? {};
  const count = (name: string) => runs.filter(run => run.job === name).length;
  const named = needsAdmission.length === 0 ? '' : `, ${needsAdmission.length} that need a slot`;
  return `${count('invoice')} + ${count('restock')}${named}`;
};
const untouched = async () =>
  await test.sql('select from tock.job_runs_live where fence = 0 and blocked_on is null');

describe('a claim of a service that shares a queue with another', () => {
  it('passes over the runs of the other one, once it has met them', async () => {
    await register('shop', restock);
    await addBoth(20);
    expect(await claim(4)).toBe('2 + 2');
    expect(await claim(4)).toBe('4 + 0');
    expect(await claim(4)).toBe('4 + 0');
    expect(await untouched()).toHaveLength(40 - 12);
  });

  it('leaves them to the other one as they were', async () => {
    await register('shop', restock);
    await addBoth(20);
    const shop = open('shop', restock);
    for (let n = 0; n < 3; n++) await claim(4);
    expect(await claim(4, shop)).toBe('0 + 4');
    expect(await claim(4, shop)).toBe('0 + 4');
    // In the order in which they are due: only what was given back before comes later.
    expect(
      await test.sql(
        `select from tock.job_runs_live where job = 'restock' and fence = 0 and id < (select max(id) from tock.job_runs_live where job = 'restock' and fence > 0)`,
      ),
    ).toEqual([]);
  });

  it('does so in claims everywhere and in several lanes, too', async () => {
    await register('shop', restock);
    await addBoth(10, { queue: 'a' });
    await addBoth(10, { queue: 'b' });
    expect(await claim(4)).toBe('2 + 2');
    expect(await claim(4)).toBe('4 + 0');
    clock.pass(200);
    expect(await claim(4)).toBe('4 + 0');
    expect(new Set(sent).size).toBe(3);
  });

  it('does not name their runs for a slot', async () => {
    await register('shop', restock);
    await addBoth(4);
    await addBoth(10, { slot_keys: '{k}', slot_limits: '{100}' });
    expect(await claim(4)).toBe('2 + 2');
    clock.pass(200);
    expect(await claim(4)).toBe('2 + 0, 2 that need a slot');
  });

  it('takes all that is due once it came up short', async () => {
    await register('shop', restock);
    await addBoth(4);
    await addRuns(test, ...Array.from({ length: 5 }, () => ({ job: 'restock' })));
    expect(await claim(4)).toBe('2 + 2');
    expect(await claim(4)).toBe('2 + 0');
    expect(await claim(10)).toBe('0 + 7');
    expect(await untouched()).toEqual([]);
  });

  it('finds what it has passed over also where that is long due', async () => {
    await register('shop', restock);
    await addBoth(4, { run_at: '2026-03-01T11:00:00Z' });
    await addRuns(
      test,
      ...Array.from({ length: 2 }, () => ({ job: 'invoice', run_at: '2026-03-01T11:30:00Z' })),
    );
    expect(await claim(4)).toBe('2 + 2');
    clock.pass(200);
    expect(await claim(5)).toBe('4 + 0');
    clock.pass(1000);
    expect(await claim(5)).toBe('0 + 2');
    expect(await untouched()).toEqual([]);
  });

  it('takes all where no other service has the job', async () => {
    // A newer version of its own service has it.
    await register('billing', invoice, restock);
    await addBoth(20);
    expect(await claim(4)).toBe('2 + 2');
    expect(await claim(4)).toBe('2 + 2');
  });

  it('takes all where the other service has dropped the job, or was not seen for five minutes', async () => {
    await register('shop', restock, job('count'));
    await register('shop', job('count'));
    await addBoth(20);
    expect(await claim(4)).toBe('2 + 2');
    expect(await claim(4)).toBe('2 + 2');
    await register('shop', restock, job('count'), job('pack'));
    await test.advance('6m');
    clock.pass(60_000);
    expect(await claim(4)).toBe('2 + 2');
  });

  it('takes all where the server does not say which jobs others have', async () => {
    await register('shop', restock);
    isRefused = true;
    await addBoth(20);
    expect(await claim(4)).toBe('2 + 2');
    expect(await claim(4)).toBe('2 + 2');
    clock.pass(60_000);
    isRefused = false;
    expect(await claim(4)).toBe('4 + 0');
  });

  it('asks again each minute', async () => {
    await register('shop', restock);
    await addBoth(40);
    expect(await claim(4)).toBe('2 + 2');
    expect(await claim(4)).toBe('4 + 0');
    await test.advance('6m');
    expect(await claim(4)).toBe('4 + 0');
    clock.pass(60_000);
    // It begins with those that it has passed over.
    expect(await claim(4)).toBe('0 + 4');
  });

  it('does so in a tick', async () => {
    await register('shop', restock);
    await addBoth(20);
    const tick = open('billing', invoice, false);
    expect(await claim(4, tick)).toBe('2 + 2');
    expect(await claim(4, tick)).toBe('4 + 0');
  });

  it('sends the usual statements where there is one service', async () => {
    await addRuns(test, ...Array.from({ length: 20 }, () => ({ job: 'invoice' })));
    for (let n = 0; n < 4; n++) expect(await claim(4)).toBe('4 + 0');
    expect(sent.join()).not.toContain('r.job <>');
  });
});
