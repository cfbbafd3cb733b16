// The page of a run that is handed off: what it says, and who may complete it, or make it fail.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { openOnce } from '../../support/open.js';
import { buttonsOf, openPageKit } from './operate-kit.js';

const approves = defineJob({ name: 'approves', run: ctx => ctx.handOff({ lease: '2d', to: 'finance <b>' }) });

const kit = openOnce(() => openPageKit([approves]));
let id: string;
beforeEach(async () => {
  await kit.setClock('2026-03-02T12:00:00Z');
  id = await kit.tock.enqueue(approves);
  await kit.tock.tick();
  await kit.advance('2h');
});

const run = async () => await kit.tock.runs.get(id);

describe('the page of a run that is handed off', () => {
  it('says to whom, since when and until when, and offers to complete it', async () => {
    const page = await kit.get(`/runs/${id}`);
    expect(page.text).toContain(
      'It was handed off to finance <b> 2h ago, and its lease ends in 1d 22h. It goes on when it is completed.',
    );
    expect(page.html).not.toContain('finance <b>');
    expect(page.text).toMatch(/Handed off to finance <b>/);
    expect(buttonsOf(page)).toEqual(['Complete', 'Fail', 'Cancel']);
    expect(buttonsOf(await kit.get(`/runs/${id}`, 'view'))).toEqual([]);
    await kit.advance('3d');
    expect((await kit.get(`/runs/${id}`)).text).toContain(
      'and its lease ended 1d 2h ago. The next tick takes it back.',
    );
  });

  it('asks before it completes it; that is an action of the operator, and in the audit', {
    tags: 'check',
  }, async () => {
    const asked = await kit.post('/confirm', {
      fence: '1',
      'confirm-action': `/runs/${id}/complete`,
      'confirm-verb': 'Complete',
      'confirm-keep': 'Leave it',
      'confirm-text': 'This completes it.',
      'confirm-back': '/tock/',
    });
    expect(asked.html).toContain('<input type="hidden" name="fence" value="1"');
    const done = await kit.post(`/runs/${id}/complete`, { fence: '1' }, 'operate');
    expect(done.text).toContain(`Run ${id} is completed; the next tick writes it.`);
    expect(done.text).toContain('and was completed 0ms ago. The next tick writes that.');
    await kit.tock.tick();
    expect(await run()).toMatchObject({ status: 'succeeded', output: null });
    expect(await kit.tock.audit.list({ limit: 1 })).toMatchObject([
      { operator: 'mia', via: 'page', action: 'complete', targets: [id], details: { job: 'approves' } },
    ]);
  });

  it('makes it fail for good', { tags: 'check' }, async () => {
    const failed = await kit.post(`/runs/${id}/fail`, { fence: '1' }, 'operate');
    expect(failed.text).toContain(`Run ${id} has failed for good; the next tick writes it.`);
    await kit.tock.tick();
    expect(await run()).toMatchObject({ status: 'dead', errors: [{ message: 'mia has made it fail' }] });
    expect(await kit.tock.audit.list({ limit: 1 })).toMatchObject([
      { action: 'fail', targets: [id], details: { retry: false } },
    ]);
  });

  it('cancels it', { tags: 'check' }, async () => {
    const cancelled = await kit.post(`/runs/${id}/cancel`);
    expect(cancelled.text).toContain(`Run ${id} is cancelled.`);
    expect(cancelled.text).toContain('and was cancelled. The next tick writes that.');
    await kit.tock.tick();
    expect((await run())?.status).toBe('cancelled');
  });

  it.each<[string, number, string]>([
    ['2', 409, 'is not handed off any more, or not under this fence; nothing was changed'],
    ['0', 409, 'nothing was changed'],
    ...['-1', '1.5', 'x', '1 or 1=1', ''].map((fence): [string, number, string] => [
      fence,
      400,
      'The form names no fence of the run',
    ]),
  ])(
    'refuses the fence %j, and counts a real one that is too late',
    { tags: 'check' },
    async (fence, status, says) => {
      for (const action of ['complete', 'fail']) {
        const answer = await kit.post(`/runs/${id}/${action}`, { fence });
        expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(says)]);
      }
      expect(await run()).toMatchObject({ status: 'running', handOff: { decision: null, refused: 0 } });
    },
  );

  it('shows calls that came too late', { tags: 'check' }, async () => {
    await kit.post(`/runs/${id}/complete`, { fence: '1' });
    await kit.post(`/runs/${id}/complete`, { fence: '1' });
    expect((await kit.get(`/runs/${id}`)).text).toContain(
      '1 call under fence 1 came too late and changed nothing',
    );
  });

  it('lets nobody act who may only view, and no other site', async () => {
    for (const action of ['complete', 'fail'])
      expect((await kit.post(`/runs/${id}/${action}`, { fence: '1' }, 'view')).status).toBe(403);
    expect((await kit.get(`/runs/${id}/complete`)).status).toBe(405);
    expect((await run())?.status).toBe('running');
  });
});
