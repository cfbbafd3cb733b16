// The page that gives a run another payload.
import { beforeAll, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';
import { type Pages, pagesOf, words } from './runs-kit.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({
  name: 'mail',
  payload: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof (value as { to?: unknown }).to === 'string'
          ? { value: value as { to: string } }
          : { issues: [{ message: 'must be text', path: ['to'] }] },
    },
  },
  run: () => undefined,
});

const { test } = storeTest(NOW, () => reuseTestTock([mail]));
let pages: Pages;
beforeAll(() => {
  pages = pagesOf(test.tock);
});

const DEAD = { job: 'mail', status: 'dead', finished_at: NOW, attempts: 1, max_attempts: 1, fence: 4 };
const payloadOf = async (id: string) => (await test.tock.runs.get(id))?.payload;

describe('the page that edits a run', () => {
  it('shows the payload, and retries a dead run with another one', async () => {
    await addRuns(test, { ...DEAD, payload: '{"to": "<ann>", "n": 1}' });
    expect((await pages.get('/runs/1')).text).toContain('href="/runs/1/edit"');
    const form = await pages.get('/runs/1/edit');
    expect(words(form.text)).toContain('It is dead: with another payload it is retried at once');
    expect(form.text).toContain('{\n  &quot;n&quot;: 1,\n  &quot;to&quot;: &quot;&lt;ann&gt;&quot;\n}');
    expect(form.text).toContain('name="fence" value="4"');
    const { status, to, flash } = await pages.post('/runs/1/edit', {
      payload: '{"to": "bob"}',
      fence: '4',
      status: 'dead',
    });
    expect([status, to, flash]).toEqual([303, '/runs/1', 'ok:Run 1 has another payload, and is queued.']);
    expect(await test.tock.runs.get('1')).toMatchObject({ status: 'queued', payload: { to: 'bob' } });
    // What was sent twice, or from an old page.
    const late = await pages.post('/runs/1/edit', { payload: '{"to": "cid"}', fence: '4', status: 'dead' });
    expect([late.status, words(late.text)]).toEqual([409, expect.stringContaining('has moved on since')]);
    expect(await payloadOf('1')).toEqual({ to: 'bob' });
  });

  it.each([
    ['{"to": 7}', 'must be text'],
    ['{"to": ', 'the payload is not JSON'],
    ['{"to": "a", "n": 12345678901234567890}', 'would lose digits on the way'],
  ])('keeps what was written, and says what is wrong with it: %s', async (payload, message) => {
    await addRuns(test, { job: 'mail', payload: '{"to": "ann"}' });
    const { status, text } = await pages.post('/runs/1/edit', { payload, fence: '0', status: 'queued' });
    expect([status, words(text)]).toEqual([400, expect.stringContaining(message)]);
    expect(words(text)).toContain(payload);
    expect(await payloadOf('1')).toEqual({ to: 'ann' });
  });

  it('refuses a fence that is no number, and one that no run can have', async () => {
    await addRuns(test, { ...DEAD, payload: '{"to": "ann"}' });
    for (const fence of ['x', '', '9999999999']) {
      const form = { payload: '{"to": "bob"}', fence, status: 'dead' };
      expect((await pages.post('/runs/1/edit', form)).status).toBe(400);
    }
    expect(await payloadOf('1')).toEqual({ to: 'ann' });
  });

  it('is not there for a run that runs or has succeeded, nor for a job that is not in code', async () => {
    await addRuns(
      test,
      { ...DEAD, status: 'succeeded' },
      { ...DEAD, job: 'other' },
      {
        job: 'mail',
        status: 'running',
        locked_by: crypto.randomUUID(),
        locked_until: '2026-03-02T12:01:00Z',
      },
    );
    for (const id of [1, 2, 3]) {
      expect((await pages.get(`/runs/${id}`)).text).not.toContain('/edit"');
      const { status, text } = await pages.get(`/runs/${id}/edit`);
      expect([status, words(text)]).toEqual([409, expect.stringContaining('cannot be edited here')]);
    }
    expect((await pages.get('/runs/77/edit')).status).toBe(404);
  });

  it.each([
    ['may only look', { role: 'view' }],
    ['may not see payloads', { seesPayloads: false }],
  ] as const)('shows nothing, and does nothing, for who %s', async (_who, as) => {
    await addRuns(test, { ...DEAD, payload: '{"to": "secret"}' });
    const others = pagesOf(test.tock, as);
    expect((await others.get('/runs/1')).text).not.toContain('/edit"');
    expect((await others.get('/runs/1/edit')).text).not.toContain('secret');
    expect(
      (await others.post('/runs/1/edit', { payload: '{"to": "x"}', fence: '4', status: 'dead' })).status,
    ).toBe(403);
    expect(await payloadOf('1')).toEqual({ to: 'secret' });
  });
});
