// An error whose cause says what happened, such as `fetch failed`, says it wherever people meet the error.
import { beforeAll, describe, expect, it } from 'vitest';
import { readErrors } from '../../src/answers/runs/read-errors.js';
import { defineJob } from '../../src/index.js';
import { messageWithCause, partsOf } from '../../src/model/run/errors/root-cause.js';
import { describeError } from '../../src/model/run/sanitize.js';
import { readTroubled } from '../../src/store/reads/now/coming.js';
import { storeTest } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';
import { type Pages, pagesOf, words } from './runs-kit.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => undefined });
const { test, database } = storeTest(NOW, () => reuseTestTock([mail]));
let pages: Pages;
beforeAll(() => {
  pages = pagesOf(test.tock);
});

const dead = (thrown: unknown) => ({
  status: 'dead',
  finished_at: NOW,
  job: 'mail',
  attempts: 1,
  max_attempts: 1,
  errors: JSON.stringify([{ ...describeError(thrown, 1), at: NOW }]),
});
const refused = (address: string) =>
  new TypeError('fetch failed', { cause: new Error(`connect ECONNREFUSED ${address}`) });
const said = async (path: string) => words((await pages.get(path)).text);

it.each([
  [
    'has a cause, which its message does not say',
    {
      name: 'TypeError',
      message: 'terminated',
      cause: { name: 'SocketError', code: 'UND_ERR_SOCKET', message: 'other side closed' },
    },
  ],
  ['begins with colours', { name: 'Error', message: '\u001b[31mFAIL\u001b[39m: no such file' }],
  ['has no name', { name: null, message: 'disk full' }],
])('all runs of an error are found that %s', async (_what, error) => {
  const failed = { status: 'dead', finished_at: NOW, job: 'mail', attempts: 1, max_attempts: 1 };
  await addRuns(
    test,
    ...[error, error, { name: 'Error', message: 'another' }].map(each => ({
      ...failed,
      errors: JSON.stringify([{ code: null, ...each, attempt: 1, at: NOW }]),
    })),
  );
  const { text } = await pages.get('/errors');
  const [, href = ''] = /href="(\/runs\/retry-all[^"]*)"/.exec(text) ?? [];
  expect(await said(href.replaceAll('&amp;', '&'))).toContain('Retry 2 runs?');
});

describe('the cause of an error', () => {
  it('stands on Errors, in lists and in the headline of a run, and errors that differ in address are one', async () => {
    const members = ['::1:9', '127.0.0.1:9'].map(at => new Error(`connect ECONNREFUSED ${at}`));
    const byName = new TypeError('fetch failed', { cause: new AggregateError(members) });
    const unknown = new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND api.example') });
    await addRuns(
      test,
      dead(refused('127.0.0.1:1')),
      dead(refused('10.0.0.7:8443')),
      dead(byName),
      dead(unknown),
    );
    const errors = await said('/errors');
    expect(errors).toContain('4 runs died in the last 24 hours, with 2 errors in one job.');
    expect(errors).toContain('TypeError fetch failed: connect ECONNREFUSED address');
    expect(errors).toContain('fetch failed: getaddrinfo ENOTFOUND api.example');

    const group = { name: 'TypeError', code: null, message: 'fetch failed: connect ECONNREFUSED <address>' };
    const { matched } = await test.tock.runs.retryMany({ errorGroup: group }, { dryRun: true });
    expect(matched).toBe(3);
    expect(await said('/runs?error=econnrefused&status=dead')).toContain(
      'fetch failed: connect ECONNREFUSED 10.0.0.7:8443',
    );
    const run = await said('/runs/1');
    expect(run).toContain('Its only attempt failed: fetch failed: connect ECONNREFUSED 127.0.0.1:1.');
    expect(run).toContain('TypeError fetch failed: connect ECONNREFUSED 127.0.0.1:1');
  });

  it('is the same where SQL finds it as where it is found in memory', async () => {
    const thrown = [
      new Error('alone'),
      new Error('outer', { cause: new Error('middle', { cause: new RangeError('inner\nmore') }) }),
      new Error('outer', { cause: new RangeError('') }),
      new Error('outer', { cause: Object.assign(new Error(''), { code: 'EPIPE' }) }),
      new AggregateError([new Error('a', { cause: new Error('b') }), new Error('c')]),
      new Error('no disk', { cause: new Error('no disk') }),
      new Error('x', { cause: 'a text' }),
      'a text',
    ];
    for (const each of thrown) await addRuns(test, dead(each));
    const { errors } = await readErrors(database, 'dead', { ms: 1000, parts: 1 });
    const expected = thrown.map(each => messageWithCause(partsOf(describeError(each, 1))));
    expect(errors.map(({ sample }) => sample).sort()).toEqual(expected.toSorted());
  });

  it('stands at a definition whose last run is dead', async () => {
    const [row] = await test.sql<{ id: string }>(
      `insert into tock.job_definitions (name, job) values ('nightly', 'mail') returning id`,
    );
    await addRuns(test, { ...dead(refused('127.0.0.1:1')), definition_id: row?.id });
    const [troubled] = await readTroubled(database, { limit: 5, lateMs: 60_000 });
    expect(troubled?.lastError).toEqual({
      name: 'TypeError',
      message: 'fetch failed',
      cause: 'connect ECONNREFUSED 127.0.0.1:1',
    });
    expect(await said('/')).toContain('TypeError: fetch failed: connect ECONNREFUSED 127.0.0.1:1');
  });
});
