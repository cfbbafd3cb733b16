// The page of a join shows its group, however large, and acts on all of it.
import { describe, expect, it } from 'vitest';
import { boxesOf } from '../../src/dashboard/pictures/group-cells.js';
import { defineJob, typeOnly } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';
import { pagesOf, words } from './runs-kit.js';

const broken = new Set<number>();
const part = defineJob({
  name: 'part',
  payload: typeOnly<{ n: number }>(),
  retry: { maxAttempts: 1 },
  run(_ctx, { n }) {
    if (broken.has(n)) throw new TypeError(`part ${n} is broken`);
  },
});
const total = defineJob({ name: 'total', run: () => null });
const test = openOnce(() => openTestTock([part, total]));
const enqueue = async (count: number, options = {}) =>
  await test.tock.enqueueGroup(
    Array.from({ length: count }, (_, n) => ({ job: part, payload: { n }, ...options })),
    { then: { job: total } },
  );
const drain = async () => {
  while ((await test.tock.tick()).executed.claimed > 0);
};

describe('the page of a join', () => {
  it('shows its members, the errors, and what can be done; a member leads to it', async () => {
    broken.add(1).add(4);
    const { id, runs } = await enqueue(20);
    await drain();
    broken.clear();
    const { get, post } = pagesOf(test.tock);
    const page = await get(`/runs/${id}`);
    expect(words(page.text)).toContain('2 of 20 did not succeed: retry them, or continue the group');
    expect(words(page.text)).toContain('TypeError: part <n> is broken');
    expect(page.text).toContain(`<title>run ${runs[1]}: dead</title>`);
    expect(page.text).toContain(`<title>2 runs, ${runs[2]} to ${runs[3]}: succeeded</title>`);
    expect(page.text).toContain(`/runs?group=${id}&amp;status=dead`);
    expect(words((await get(`/runs?group=${id}&status=dead`)).text)).toContain(`dead runs of group ${id}`);
    expect(words((await get(`/runs/${runs[3]}`)).text)).toContain(`Member of the group of ${id} total`);
    expect((await post(`/groups/${id}/retry`)).flash).toContain(`2 runs of group ${id} wait again.`);
    await drain();
    expect(words((await get(`/runs/${id}`)).text)).toContain('all 20 runs succeeded');
  });

  it('continues and cancels it', { tags: 'check' }, async () => {
    const { post, get } = pagesOf(test.tock);
    const continued = await enqueue(2, { delay: '1d' });
    expect((await post(`/groups/${continued.id}/continue`)).flash).toContain('waits only for the ends');
    const { id } = await enqueue(3, { delay: '1d' });
    expect((await post(`/groups/${id}/cancel`)).flash).toContain(`4 runs of group ${id} are cancelled.`);
    expect(words((await get(`/runs/${id}`)).text)).toContain('its join is cancelled, and waits no longer');
    const viewer = pagesOf(test.tock, { role: 'view' });
    expect((await viewer.post(`/groups/${id}/retry`)).status).toBe(403);
    expect((await viewer.get(`/runs/${continued.id}`)).text).not.toContain('Cancel group');
  });

  it('stays small where the states of 10,000 members alternate', { tags: 'check' }, async () => {
    const { id } = await enqueue(10_000, { delay: '1d' });
    const { get } = pagesOf(test.tock);
    expect((await get(`/runs/${id}`)).text.length).toBeLessThan(60_000);
    await test.sql(
      `update tock.job_awaited_runs a set status = case when position % 3 = 0 then 'dead' else 'succeeded' end
       from tock.job_waits w where w.id = a.wait_id and w.run_id = $1`,
      [id],
    );
    expect((await get(`/runs/${id}`)).text.length).toBeLessThan(300_000);
  });
});

it('the cells of a span are the end of a row, whole rows, and the beginning of one', () => {
  expect(boxesOf(7, 30, 10)).toEqual([
    { x: 7, y: 0, width: 3, height: 1 },
    { x: 0, y: 1, width: 10, height: 2 },
    { x: 0, y: 3, width: 7, height: 1 },
  ]);
  expect(boxesOf(3, 1, 10)).toEqual([{ x: 3, y: 0, width: 1, height: 1 }]);
});
