// Review: forms of the dashboard.
import { beforeAll, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { type Pages, pagesOf, words } from '../dashboard/runs-kit.js';
import { storeTest } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => undefined });
const { test } = storeTest(NOW, () => reuseTestTock([mail]));
let pages: Pages;
beforeAll(() => {
  pages = pagesOf(test.tock);
});

const DEAD = { job: 'mail', status: 'dead', finished_at: NOW, attempts: 1, max_attempts: 1, fence: 4 };

describe('forms', () => {
  it('a refused payload of several lines, as browsers send it, is shown as it was written', async () => {
    await addRuns(test, { ...DEAD, payload: '{"to": "ann"}' });
    const { status, text } = await pages.post('/runs/1/edit', {
      payload: '{\r\n  "to": "bob",\r\n}',
      fence: '4',
      status: 'dead',
    });
    expect(status).toBe(400);
    expect(text).not.toContain('\\u000d');
  });

  it('a number that would lose digits is refused by the form that enqueues, as by the one that edits', async () => {
    await pages.get('/jobs/mail');
    const answer = await pages.post('/jobs/mail/run', { payload: '{"amount": 0.1234567890123456789012}' });
    expect([answer.status, words(answer.text)]).toEqual([400, expect.stringContaining('would lose digits')]);
  });

  it('all runs of an error group with colours in its first word are found', async () => {
    await addRuns(test, {
      ...DEAD,
      errors: JSON.stringify([
        { name: 'Error', message: '\u001b[31mFAIL\u001b[39m: no such file', attempt: 1, at: NOW },
      ]),
    });
    const errors = await pages.get('/errors');
    expect(words(errors.text)).toContain('FAIL: no such file');
    const href = /href="(\/runs\/retry-all[^"]*)"/.exec(errors.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const question = await pages.get(href);
    expect(words(question.text)).toContain('Retry 1 run?');
  });

  it('all runs of an error whose message is one word, with a cause, are found: "terminated" of fetch', async () => {
    await addRuns(test, {
      ...DEAD,
      errors: JSON.stringify([
        {
          name: 'TypeError',
          code: null,
          message: 'terminated',
          cause: { name: 'SocketError', code: 'UND_ERR_SOCKET', message: 'other side closed' },
          attempt: 1,
          at: NOW,
        },
      ]),
    });
    const errors = await pages.get('/errors');
    expect(words(errors.text)).toContain('terminated');
    const href = /href="(\/runs\/retry-all[^"]*)"/.exec(errors.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(words((await pages.get(href)).text)).toContain('Retry 1 run?');
  });

  it('all runs of an error group without a name are found', async () => {
    await addRuns(test, {
      ...DEAD,
      errors: JSON.stringify([{ name: null, code: null, message: 'disk full', attempt: 1, at: NOW }]),
    });
    const errors = await pages.get('/errors');
    const href = /href="(\/runs\/retry-all[^"]*)"/.exec(errors.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(words((await pages.get(href)).text)).toContain('Retry 1 run?');
  });

  it.each(['/new-schedule', '/jobs/mail/run'])(
    '%s, refused, shows a payload of several lines as it was written',
    async path => {
      const { status, text } = await pagesOf(test.tock, { role: 'admin' }).post(path, {
        name: 'x',
        job: 'mail',
        cron: '0 3 * * *',
        payload: '{\r\n  "a": 1,\r\n}',
      });
      expect([status, text.includes('\\u000d')]).toEqual([400, false]);
    },
  );

  it('a schedule is made with several exclusions, as browsers send them; one that is refused is shown as it was written', async () => {
    const admin = pagesOf(test.tock, { role: 'admin' });
    const fields = {
      name: 'nightly',
      job: 'mail',
      kind: 'cron',
      when: '0 3 * * *',
      timezone: 'UTC',
      payload: '{}',
    };
    const refused = await admin.post('/new-schedule', { ...fields, exclude: '2026-12-25\r\nnonsense' });
    // What a browser sends back: what stands in the field, with the one line corrected.
    const shown = /name="exclude"[^>]*>([^<]*)</.exec(refused.text)?.[1] ?? '';
    const made = await admin.post('/new-schedule', {
      ...fields,
      exclude: shown.replace('nonsense', '2026-12-26').replaceAll('\n', '\r\n'),
    });
    expect([refused.status, shown, made.status, made.to]).toEqual([
      400,
      '2026-12-25\r\nnonsense',
      303,
      '/schedules/nightly',
    ]);
  });

  it('a number that would lose digits is refused by the form of a schedule', async () => {
    const admin = pagesOf(test.tock, { role: 'admin' });
    const fields = { name: 'weekly', job: 'mail', kind: 'cron', when: '0 3 * * *', timezone: 'UTC' };
    const { status } = await admin.post('/new-schedule', {
      ...fields,
      payload: '{"amount": 0.1234567890123456789012}',
    });
    expect(status).toBe(400);
  });

  it('a fence that is no number is a bad request', async () => {
    await addRuns(test, { ...DEAD, payload: '{"to": "ann"}' });
    const { status, text } = await pages.post('/runs/1/edit', { payload: '{}', fence: 'x', status: 'dead' });
    expect([status, words(text)]).toEqual([400, expect.anything()]);
  });
});
