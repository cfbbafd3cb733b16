// Engine: keys that are unique only while their run is live, with replacement and debounce.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { otherSessions } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openForEach(() => reuseTestTock([sync, other]));
const { begin, open, blocked } = otherSessions(test);
const seen: unknown[] = [];
const sync = defineJob({
  name: 'sync',
  run: (_ctx, payload: unknown) => {
    seen.push(payload);
  },
});
const other = defineJob({ name: 'other', run: () => null });
beforeEach(async () => {
  seen.length = 0;
  await test.setClock('2026-03-01T12:00:00Z');
});
const live = { key: 'user:7', unique: 'live' } as const;

describe("unique: 'live'", () => {
  it('of several in one batch the first counts, or the last where it replaces', async () => {
    const { tock } = test;
    const kept = await tock.enqueueMany(
      [1, 2, 3].map(payload => ({ job: sync, payload, ...live })),
      { details: true },
    );
    expect(new Set(kept.map(each => each.id)).size).toBe(1);
    await tock.tick();
    await tock.enqueueMany(
      [4, 5, 6].map(payload => ({ job: sync, payload, ...live, replace: true })),
      { details: true },
    );
    await tock.tick();
    expect(seen).toEqual([1, 6]);
  });

  it('makes a run where the one that had the key has ended before it could be told', async () => {
    // Not committed yet: the second call waits for it, and it is not in the snapshot of that call.
    const [first, second] = [await begin(), await open()];
    const early = await test.tock.enqueue(sync, 1, { ...live, client: first });
    let sent = 0;
    const late = test.tock.enqueueMany([{ job: sync, payload: 2, ...live }], {
      details: true,
      client: {
        query: async (text, values) => {
          if (text.includes('enqueue_live') && ++sent === 2) {
            await test.sql('delete from tock.job_runs_live where id = $1', [early]);
          }
          return await second.query(text, values);
        },
      },
    });
    await blocked(1, `and query like '%enqueue_live%'`);
    await first.query('commit');
    const [made] = await late;
    expect(sent).toBe(2);
    expect(made).toMatchObject({ id: expect.stringMatching(/^\d+$/), isNew: true });
    expect(await test.tock.runs.get(made?.id ?? '')).toMatchObject({ payload: 2, status: 'queued' });
  });

  it.each([
    [{ unique: 'live' }, /needs a key/],
    [{ key: 'a', unique: 'sometimes' }, /none of ever, live/],
    [{ key: 'a', replace: true }, /replace needs unique: 'live'/],
    [{ debounce: '5s' }, /debounce needs a key/],
    [{ key: 'a', debounce: '5s', unique: 'ever' }, /debounce goes with unique: 'live'/],
    [{ key: 'a', debounce: '5s', delay: '1m' }, /leave runAt and delay out/],
    [{ key: 'a', debounce: 'soon' }, /not a duration/],
  ])('refuses %j', async (options, message) => {
    await expect(test.tock.enqueue(sync, 1, options as object)).rejects.toThrow(message);
    expect(await test.sql('select from tock.job_runs_live')).toEqual([]);
  });
});

it('debounce starts so long after the last call, with its payload; at the latest ten times as long after the first', {
  tags: 'check',
}, async () => {
  const { tock } = test;
  const id = await tock.enqueue(sync, 0, { key: 'a', debounce: '10s' });
  const due = async () => (await tock.runs.get(id))?.runAt.toISOString().slice(11, 19);
  for (let call = 1; call <= 12; call++) {
    expect(await due()).toBe(
      new Date(Date.parse('2026-03-01T12:00:10Z') + Math.min((call - 1) * 9, 90) * 1000)
        .toISOString()
        .slice(11, 19),
    );
    await test.advance('9s');
    await tock.enqueue(sync, call, { key: 'a', debounce: '10s' });
  }
  expect(await due()).toBe('12:01:40');
  await tock.tick();
  expect(seen).toEqual([12]);
});
