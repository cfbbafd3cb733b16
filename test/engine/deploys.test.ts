// Engine: which deploy executed an attempt, what runs are found by it, and marks of deploys.
import { describe, expect, it } from 'vitest';
import { deployOf } from '../../src/environment/deploy.js';
import { defineJob, type Tock } from '../../src/index.js';
import { deployCode, workerIdOf } from '../../src/model/deploys/deploys.js';
import { pagesOf, words } from '../dashboard/runs-kit.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const fine = defineJob({ name: 'fine', run: () => null });
const failing = defineJob({
  name: 'failing',
  retry: { maxAttempts: 2, backoff: 'fixed', base: '1ms', jitter: 0 },
  run: () => {
    throw new TypeError('no such column');
  },
});
const JOBS = [fine, failing];
const test = openForEach(
  () => openTestTock(JOBS, { deploy: 'v41' }),
  ({ tock }) => tock.register(),
);

const tick = async (tock: Tock) => await tock.tick();
const listed = async (deploy: string) => (await test.tock.runs.list({ deploy })).map(run => run.id);

describe('the deploy of an attempt', () => {
  it('is kept with the run that it ended, and with the error of one that failed', async () => {
    const newer = test.another({ jobs: JOBS, deploy: 'v42' });
    const old = await test.tock.enqueue(fine);
    await tick(test.tock);
    expect(await test.tock.runs.get(old)).toMatchObject({ status: 'succeeded', deploy: 'v41' });
    const bad = await newer.enqueue(failing);
    await tick(newer);
    const run = await test.tock.runs.get(bad);
    expect(run).toMatchObject({ status: 'dead', deploy: 'v42' });
    expect(run?.errors.map(error => error.deploy)).toEqual(['v42', 'v42']);
    expect([await listed('v41'), await listed('v42'), await listed('v43')]).toEqual([[old], [bad], []]);
    expect(await test.tock.runs.retryMany({ deploy: 'v42' }, { dryRun: true })).toMatchObject({ matched: 1 });
    await test.tock.runs.retry(bad);
    // Its failed attempts still say it.
    expect(await listed('v42')).toEqual([bad]);
  });

  it('is not known where none is named, and costs no column', { tags: 'check' }, async () => {
    const none = test.another({ jobs: JOBS, deploy: null });
    const id = await none.enqueue(fine);
    await tick(none);
    expect(await none.runs.get(id)).toMatchObject({ status: 'succeeded', deploy: null });
    expect(await test.tock.deploys.list()).toEqual([]);
  });

  it('of a worker that is gone is known when its lease has expired', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(failing);
    await test.sql(
      `update tock.job_runs_live set status = 'running', attempts = 1, fence = 1, started_at = tock.now(),
        locked_by = $1, locked_until = tock.now() - interval '1 hour'`,
      [workerIdOf('11111111-1111-4111-8111-111111111111', 'v40')],
    );
    await test.tock.deploys.mark('v40');
    await tick(test.tock);
    expect((await test.tock.runs.get(id))?.errors[0]).toMatchObject({
      code: 'TOCK_LEASE_LOST',
      deploy: 'v40',
    });
  });
});

describe('deploys', () => {
  it('are seen with their first worker, and marked by operators, with an audit row', {
    tags: 'check',
  }, async () => {
    await test.setClock('2026-03-01T10:00:00Z');
    await test.tock.enqueue(fine);
    await tick(test.tock);
    const at = new Date('2026-03-01T10:00:00Z');
    expect(await test.tock.deploys.list()).toEqual([
      { name: 'v41', at, firstSeenAt: at, markedAt: null, markedBy: null, note: null },
    ]);
    const mia = test.tock.as({ name: 'mia', via: 'cli', role: 'operate', seesPayloads: true });
    await test.setClock('2026-03-01T11:00:00Z');
    expect(await mia.deploys.mark('v41', { note: 'new mailer' })).toMatchObject({
      firstSeenAt: at,
      at: new Date('2026-03-01T11:00:00Z'),
      markedBy: 'mia',
      note: 'new mailer',
    });
    await mia.deploys.mark('v40', { at: '2026-02-28T09:00:00Z' });
    expect((await test.tock.deploys.list()).map(each => each.name)).toEqual(['v41', 'v40']);
    const [audited] = await test.tock.audit.list({ action: 'deploys.mark', target: 'v40' });
    expect(audited).toMatchObject({ operator: 'mia', details: { at: '2026-02-28T09:00:00.000Z' } });
  });

  it('that are marked before their first worker comes are seen later', { tags: 'check' }, async () => {
    await test.tock.deploys.mark('v41');
    await test.tock.enqueue(fine);
    await tick(test.tock);
    expect((await test.tock.deploys.list())[0]?.firstSeenAt).toBeInstanceOf(Date);
  });

  it.each([['two words'], [''], ['x'.repeat(101)]])('cannot be called %j', { tags: 'check' }, async name => {
    await expect(test.tock.deploys.mark(name)).rejects.toThrow('is not 1 to 100 bytes without blanks');
  });

  it('cannot be marked at what is no time', async () => {
    await expect(test.tock.deploys.mark('v1', { at: 'soon' })).rejects.toMatchObject({
      code: 'TOCK_BAD_TIME',
    });
  });

  it('are on pages: marks in charts, the deploy in which an error was first seen, and a form', {
    tags: 'check',
  }, async () => {
    const pages = pagesOf(test.tock);
    expect(words((await pages.get('/deploys')).text)).toContain('No deploy is known');
    await test.tock.enqueue(failing);
    await tick(test.tock);
    expect(words((await pages.get('/errors')).text)).toContain('first seen in v41');
    for (const path of ['/', '/errors', '/jobs/failing'])
      expect((await pages.get(path)).text).toContain('<title>deploy v41</title>');
    expect((await pages.post('/deploys/mark', { name: 'v42', note: 'by hand' })).flash).toContain(
      'Deploy v42 is marked',
    );
    const page = words((await pages.get('/deploys')).text);
    expect(page).toContain('by hand');
    expect(page).toContain('by ann');
    expect((await pages.post('/deploys/mark', { name: 'two words' })).flash).toContain('without blanks');
    const viewer = pagesOf(test.tock, { role: 'view' });
    expect((await viewer.get('/deploys')).text).not.toContain('/deploys/mark');
    expect((await viewer.post('/deploys/mark', { name: 'v43' })).status).toBe(403);
  });
});

describe('the environment', () => {
  const COMMIT = '8c1f2d94b7e6a5d3c2b1a0f9e8d7c6b5a4938271';
  it.each([
    [{ TOCK_DEPLOY: 'v42', HEROKU_SLUG_COMMIT: COMMIT }, 'v42'],
    [{ HEROKU_SLUG_COMMIT: COMMIT }, '8c1f2d94b7e6'],
    [{ K_REVISION: 'mailer-00042-abc' }, 'mailer-00042-abc'],
    [{ TOCK_DEPLOY: 'off', RENDER_GIT_COMMIT: COMMIT }, null],
    [{ RENDER_GIT_COMMIT: 'not a name' }, null],
    [{}, null],
  ])('%j gives %j', { tags: 'check' }, (env, deploy) => {
    expect(deployOf(env)).toBe(deploy);
  });

  it('is refused where its name is none', () => {
    expect(() => deployOf({ TOCK_DEPLOY: 'two words' })).toThrow('without blanks');
  });
});

it('the code of a deploy begins a valid id, the same for the same name', () => {
  const id = workerIdOf('a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d', 'v42');
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4a7b-8c9d-0e1f2a3b4c5d$/);
  expect(id.startsWith(deployCode('v42'))).toBe(true);
  expect(deployCode('v42')).not.toBe(deployCode('v43'));
});
