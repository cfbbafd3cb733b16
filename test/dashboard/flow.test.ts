// The page of a run of a flow draws the flow.
import { describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { columnsOf, criticalPathOf, type FlowRunRecord } from '../../src/model/flow/flow-record.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';
import { pagesOf, words } from './runs-kit.js';

const work = defineJob({
  name: 'work',
  payload: typeOnly<{ isBroken?: boolean }>(),
  retry: { maxAttempts: 1 },
  run(_ctx, { isBroken }) {
    if (isBroken === true) throw new Error('broken');
  },
});
const test = openOnce(() => openTestTock([work]));
const as = (isBroken = false) => ({ job: work, payload: { isBroken } });
const drain = async () => {
  while ((await test.tock.tick()).executed.claimed > 0);
};

describe('the page of a run of a flow', () => {
  it('shows what comes after what, and the critical path', async () => {
    const { get, post } = pagesOf(test.tock);
    const flow = await test.tock.enqueueFlow({
      fetch: as(),
      parse: { ...as(), after: ['fetch'] },
      check: { ...as(true), after: ['fetch'] },
      report: { ...as(), after: ['parse', 'check'] },
    });
    await drain();
    const page = await get(`/runs/${flow.report}`);
    expect(words(page.text)).toContain('Flow 3 of 4 runs have ended');
    // Through whichever of the two ended last.
    const shown = await test.tock.flow(flow.report);
    const latest = shown?.criticalPath[1] === flow.parse ? 'parse' : 'check';
    expect(words(page.text)).toContain(`Critical path fetch → ${latest} → work`);
    expect(page.text).toContain(`<title>check, run ${flow.check}: dead`);
    expect(page.text).toContain('Continue');
    const { text } = await get(`/runs/${flow.fetch}`);
    expect(text).toContain(`href="/runs/${flow.report}"`);
    expect((await post(`/groups/${flow.report}/continue`)).flash).toContain('waits only for the ends');
    await drain();
    const record = await test.tock.flow(flow.parse);
    expect(record?.runs.map(({ id }) => id)).toEqual([flow.fetch, flow.parse, flow.check, flow.report]);
    expect(record).toMatchObject({
      isCut: false,
      runs: [{ after: [] }, {}, { status: 'dead' }, { name: null }],
    });
    expect(record?.criticalPath.at(-1)).toBe(flow.report);
    expect(await test.tock.flow(await test.tock.enqueue(work, {}))).toBeNull();
    await expect(test.tock.flow('x')).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
  });

  it('draws the first 300 of many', async () => {
    const flow = await test.tock.enqueueFlow(
      Object.fromEntries(
        Array.from({ length: 400 }, (_, n) => [`n${n}`, { ...as(), ...(n > 0 ? { after: ['n0'] } : {}) }]),
      ),
    );
    const { text } = await pagesOf(test.tock).get(`/runs/${flow['n0']}`);
    expect(words(text)).toContain('It has more runs, which are not drawn.');
    expect(text.length).toBeLessThan(200_000);
  });
});

describe('a flow', () => {
  const run = (id: string, after: string[], ended: number | null, status = 'succeeded') =>
    ({
      id,
      name: id,
      job: 'work',
      status,
      startedAt: null,
      endedAt: ended === null ? null : new Date(ended),
      after,
    }) as FlowRunRecord;

  it('has each run to the right of its parents, near their height', () => {
    const runs = [
      run('1', [], 1),
      run('2', [], 1),
      run('3', ['2'], 2),
      run('4', ['1'], 2),
      run('5', ['1', '3'], 3),
    ];
    expect(columnsOf(runs).map(column => column.map(({ id }) => id))).toEqual([
      ['1', '2'],
      ['4', '3'],
      ['5'],
    ]);
    // Whose parents are not known.
    expect(columnsOf([run('7', ['6'], 1)])).toHaveLength(1);
  });

  it('has a critical path: back from its last end, each time by the latest parent', () => {
    expect(
      criticalPathOf([run('1', [], 5), run('2', [], 9), run('3', ['1', '2'], 12), run('4', ['1'], 20)]),
    ).toEqual(['1', '4']);
    const open = [run('1', [], 5), run('2', [], null, 'queued'), run('3', [], null, 'running')];
    expect(criticalPathOf([...open, run('4', ['1', '2', '3'], null, 'queued')])).toEqual(['3', '4']);
  });
});
