import { describe, expect, it } from 'vitest';
import { type ChangesOption, defineJob } from '../../../src/index.js';
import { goneMessage, messageOf, webhooksOf } from '../../../src/model/changes/webhook.js';
import { createRegistry } from '../../../src/model/job/registry.js';
import { describeDefinition } from '../../../src/model/planning/definition.js';

const job = (changes?: unknown, name = 'told') =>
  defineJob({
    name,
    ...(changes === undefined ? {} : { changes: changes as ChangesOption }),
    run: () => null,
  });
const webhook = { url: 'https://app.example.com/hooks', secret: { env: 'HOOK_SECRET' } };

describe('changes', () => {
  it('is stated in the job’s definition, and by default is not', () => {
    const stated = [true, { webhook }, false, undefined].map(
      each => describeDefinition(job(each)).columns.keeps_changes,
    );
    expect(stated).toEqual([true, true, null, null]);
  });

  it.each([
    'yes',
    1,
    null,
    {},
    [],
    'https://app.example.com/hunter2',
    { url: 'https://a.example.com/hunter2' },
  ])('%j is refused, and not repeated', changes => {
    expect(() => job(changes)).toThrow(
      expect.objectContaining({ code: 'TOCK_BAD_JOB', message: expect.stringContaining('write true') }),
    );
    expect(() => job(changes)).not.toThrow(/hunter2/);
  });
});

describe('a webhook', () => {
  it('has its defaults, and the aliases of its job', () => {
    const renamed = defineJob({
      name: 'told',
      aliases: ['heard'],
      changes: { webhook },
      run: () => null,
    });
    expect(webhooksOf(createRegistry([job(true, 'plain'), renamed]))).toEqual([
      {
        job: 'told',
        names: ['told', 'heard'],
        webhook: { ...webhook, kinds: null, headers: {}, allow: [], timeoutMs: 30_000 },
      },
    ]);
  });

  it.each([
    [{ ...webhook, url: undefined }, /changes\.webhook needs a url/],
    [{ ...webhook, url: 'app.example.com' }, /changes\.webhook\.url is no URL/],
    [{ ...webhook, url: 'ftp://app.example.com' }, /begins with "ftp:"; write https/],
    [
      { ...webhook, url: 'https://me:hunter2@app.example.com' },
      /app\.example\.com holds a user or a password/,
    ],
    [{ ...webhook, secret: undefined }, /changes\.webhook needs a secret.*{ env: 'NAME' }/],
    [{ ...webhook, secret: 'hunter2' }, /changes\.webhook\.secret is a text.*{ env: 'NAME' }/],
    [{ ...webhook, secret: { env: 'hunter-2' } }, /is not the name of an environment variable/],
    [{ ...webhook, kinds: ['done'] }, /kinds has "done", which is none of ended, failed, waiting/],
    [{ ...webhook, kinds: [] }, /kinds is no list of ended, failed, waiting/],
    [{ ...webhook, timeout: '1h' }, /timeout must be from 1ms to 5m/],
    [{ ...webhook, headers: { 'webhook-id': '1' } }, /which Tock sets itself/],
    [{ ...webhook, allow: ['a b'] }, /allow has "a b"/],
    [{ ...webhook, retries: 3 }, /changes\.webhook has no option "retries"/],
    ['https://app.example.com/hunter2', /changes\.webhook is a text; write an object/],
  ])('%j is refused', (given, message) => {
    const define = () => job({ webhook: given });
    expect(define).toThrow(expect.objectContaining({ code: 'TOCK_BAD_JOB' }));
    expect(define).toThrow(message);
    expect(define).not.toThrow(/hunter2/);
  });

  it('needs room for the name of the job that delivers it', () => {
    expect(() => job({ webhook }, 'n'.repeat(188))).toThrow(/may have at most 187 bytes/);
    expect(job({ webhook }, 'n'.repeat(187)).name).toHaveLength(187);
  });

  it('has one id for a change, whenever it is sent, and another if a position is given again', () => {
    const at = new Date('2026-03-01T12:00:00Z');
    const change = {
      cursor: '3f9a2c1b-7',
      kind: 'ended',
      runId: '812',
      job: 'told',
      definition: null,
      status: 'succeeded',
      attempts: 1,
      generation: 1,
      at,
    } as const;
    expect(messageOf(change)).toEqual({
      id: '3f9a2c1b-7-mm7p6yo0',
      body: { type: 'tock.change', timestamp: '2026-03-01T12:00:00.000Z', data: change },
    });
    expect(messageOf({ ...change, at: new Date(at.getTime() + 1) }).id).not.toBe(messageOf(change).id);
    expect(goneMessage('told', '3f9a2c1b-7', '3f9a2c1b-9', at.getTime())).toEqual({
      id: '3f9a2c1b-9-gone-told',
      body: {
        type: 'tock.changes.gone',
        timestamp: '2026-03-01T12:00:00.000Z',
        data: { job: 'told', after: '3f9a2c1b-7', until: '3f9a2c1b-9' },
      },
    });
  });
});
