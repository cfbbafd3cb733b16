// `tock runs`, `tock retry` and `tock cancel` take one set of filters; CSV of what is listed.
import { beforeAll, describe, expect, it } from 'vitest';
import { runAt } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness, words } from '../cli-harness.js';

const harness = openOnce(openCliHarness);
const ids: Record<string, string> = {};
beforeAll(async () => {
  const add = async (name: string, values: string) => {
    const [row] = await runAt(
      harness.url,
      `insert into tock.job_runs (job, status, queue, payload, finished_at, errors) values ('greet', ${values}) returning id`,
    );
    ids[name] = String(row?.['id']);
  };
  const error = `'[{"at": "2026-03-02T12:00:00Z", "attempt": 1, "name": "Error", "code": null, "message": "no route", "stack": null}]'`;
  await add('retried', `'cancelled', 'late', '{}', tock.now(), '[]'`);
  await add('old', `'dead', 'mail', '{"customer": 812}', tock.now() - interval '3 days', ${error}`);
  await add('new', `'dead', 'mail', '{"customer": "812"}', tock.now() - interval '1 minute', ${error}`);
  await add('other', `'dead', 'default', '{"customer": 9}', tock.now() - interval '1 minute', ${error}`);
  await add('done', `'succeeded', 'default', '{"customer": 812}', tock.now() - interval '1 minute', '[]'`);
});

const listed = async (...args: string[]) =>
  (await harness.json<{ runs: { id: string }[] }>(['runs', ...args])).runs.map(run => run.id);

describe('a filter of runs', () => {
  it('knows payloads, relative times, queues and errors', async () => {
    expect(await listed('--payload', 'customer=812')).toEqual([ids['done'], ids['new'], ids['old']]);
    expect(await listed('--payload', 'customer=812', '--from', '-2h')).toEqual([ids['done'], ids['new']]);
    expect(await listed('--payload', '{"customer": 812}')).toEqual([ids['done'], ids['old']]);
    expect(await listed('--queue', 'mail', '--to', '-2h')).toEqual([ids['old']]);
    expect(await listed('--error', 'ROUTE', '--payload', 'customer=9')).toEqual([ids['other']]);
  });

  it('knows the order of the ends, and says how to go on', { tags: 'check' }, async () => {
    expect(await listed('--order', 'ended', '--limit', '1')).toEqual([ids['retried']]);
    expect(await listed('--order', 'ended', '--status', 'dead,queued', '--queue', 'mail')).toEqual([
      ids['new'],
      ids['old'],
    ]);
    const { stdout } = await harness.tock(['runs', '--order', 'ended', '--limit', '1']);
    expect(stdout).toContain(`older runs: --order ended --before ${ids['retried']}`);
    expect(await listed('--order', 'ended', '--before', ids['retried'] ?? '', '--limit', '1')).toEqual([
      ids['done'],
    ]);
  });

  it('has no order of the ends for runs that have none', { tags: 'check' }, async () => {
    const { code, stdout, stderr } = await harness.tock(words('runs --order ended --status queued'));
    expect(stderr).toMatch(/runs that are queued have not: leave the order out/);
    expect([code, stdout]).toEqual([2, '']);
  });

  it('is the same for retry and cancel, and is said in the question', { tags: 'check' }, async () => {
    const filter = ['--payload', 'customer=812', '--from', '-2h', '--queue', 'mail'];
    const asked = await harness.tock(['retry', ...filter]);
    expect(asked.stderr).toContain(
      'this would retry 1 dead run in queue "mail" whose payload has customer=812 since 2h ago',
    );
    expect(await harness.json(['retry', ...filter, '--yes'])).toMatchObject({ done: { queued: 1 } });
    expect(
      await harness.json(['cancel', '--queue', 'mail', '--payload', 'customer=812', '--yes']),
    ).toMatchObject({
      done: { cancelled: 1 },
    });
  });

  it('prints CSV, with a header where nothing matches', { tags: 'check' }, async () => {
    const { stdout } = await harness.tock(['runs', '--status', 'dead', '--error', 'route', '--csv']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^id,job,definition,status,/);
    expect(lines.slice(1).map(line => line.split(',')[0])).toEqual([ids['other'], ids['old']]);
    expect(lines[1]).toContain(',Error,,no route,');
    const nothing = await harness.tock(['runs', '--key', 'nobody', '--csv']);
    expect(nothing.stdout).toBe(`${lines[0] ?? ''}\n`);
    expect(nothing.code).toBe(0);
  });
});
