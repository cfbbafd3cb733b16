// Review: a row of a fair key that PostgreSQL refuses to change, beside others.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const started: string[] = [];
const run = (_ctx: unknown, payload: unknown) => void started.push((payload as { tenant: string }).tenant);
const send = defineJob({ name: 'send', queue: 'mail', run });
const { test } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([send]));
beforeEach(() => {
  started.length = 0;
});

describe('a row that cannot be claimed holds up no other run', () => {
  it.each([
    ['without fair keys', false],
    ['with fair keys', true],
  ])('%s', async (_, isFair) => {
    if (isFair) await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
    await test.tock.enqueue(send, { tenant: 'bad' });
    // Somebody's own constraint refuses its lease.
    await test.sql(
      `alter table tock.job_runs_live add constraint mine check (payload ->> 'tenant' <> 'bad' or status <> 'running')`,
    );
    await test.tock.enqueueMany(['a', 'b', 'c'].map(tenant => ({ job: send, payload: { tenant } })));
    for (let minute = 0; minute < 3; minute++) {
      await test.tock.tick().catch(() => undefined);
      await test.advance('1m');
    }
    await test.sql('alter table tock.job_runs_live drop constraint mine');
    expect(started.toSorted()).toEqual(['a', 'b', 'c']);
  });
});
