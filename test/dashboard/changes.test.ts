// Changes as server-sent events, behind the same door as the pages.
import { describe, expect, it } from 'vitest';
import { eventStream } from '../../src/dashboard/changes/event-stream.js';
import { type Authorized, createDashboard } from '../../src/dashboard.js';
import { defineJob, typeOnly } from '../../src/index.js';
import type { Change, ChangeSubscription } from '../../src/model/changes/change.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const told = defineJob({
  name: 'told',
  changes: true,
  payload: typeOnly<{ note: string }>(),
  run: (_ctx, { note }) => note,
});
const other = defineJob({ name: 'other', changes: true, run: () => null });
const test = openForEach(
  () => reuseTestTock([told, other]),
  ({ setClock }) => setClock('2026-03-01T12:00:00Z'),
);
const drain = async () => {
  while ((await test.tock.tick()).executed.claimed > 0);
};

const VIEWER: Authorized = { user: 'ann', role: 'view' };
const ask = async (
  path: string,
  headers: Record<string, string> = {},
  as: Authorized | null = VIEWER,
  method = 'GET',
) =>
  await createDashboard({ tock: test.tock, authorize: () => as }).fetch(
    new Request(`http://localhost${path}`, { headers, method }),
  );

/** Reads a stream until a text has come, and ends it. */
async function readUntil(response: Response, text: string): Promise<string> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let read = '';
  while (!read.includes(text)) {
    const { done, value } = await reader.read();
    if (done) break;
    read += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return read;
}

describe('/runs/:id/changes', () => {
  it('gives what becomes of the run, with cursors as ids, and no payload to anybody', async () => {
    const id = await test.tock.enqueue(told, { note: 'a secret' });
    const stream = await ask(`/runs/${id}/changes`);
    expect([stream.status, stream.headers.get('content-type'), stream.headers.get('cache-control')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      'no-store',
    ]);
    await test.tock.enqueue(told, { note: 'of another run' });
    await drain();
    const text = await readUntil(stream, 'data:');
    expect(text).toMatch(/^retry: 3000\n\nid: [0-9a-f]{8}-0\n\nid: [0-9a-f]{8}-\d\nevent: ended\ndata: /);
    const data: unknown = JSON.parse(/data: (.*)\n/.exec(text)?.[1] ?? '');
    expect(data).toEqual({
      kind: 'ended',
      runId: id,
      job: 'told',
      definition: null,
      status: 'succeeded',
      attempts: 1,
      generation: 1,
      at: '2026-03-01T12:00:00.000Z',
    });
    expect(text).not.toContain('secret');
  });

  it('begins with the end of a run that has ended, and tells it once', { tags: 'check' }, async () => {
    const id = await test.tock.enqueue(told, { note: 'a secret' });
    await drain();
    const text = await readUntil(await ask(`/runs/${id}/changes`), 'data:');
    expect(text).toMatch(
      /^retry: 3000\n\nid: [0-9a-f]{8}-1\nevent: ended\ndata: \{"kind":"ended","runId":"\d+"/,
    );
    expect(text).not.toContain('secret');
    const [, cursor = ''] = /id: (.*)/.exec(text) ?? [];
    // It goes on after that, and has nothing to tell.
    const again = await ask(`/runs/${id}/changes`, { 'last-event-id': cursor });
    expect(await readUntil(again, `id: ${cursor}`)).not.toContain('data:');
  });

  it('is refused to who may not look, and of a run that is not there', async () => {
    const id = await test.tock.enqueue(told, { note: '' });
    expect((await ask(`/runs/${id}/changes`, {}, null)).status).toBe(401);
    expect((await ask('/changes', {}, null)).status).toBe(401);
    expect((await ask('/runs/999999/changes')).status).toBe(404);
    expect((await ask('/runs/1 or 1=1/changes')).status).toBe(400);
    expect(
      (await ask(`/runs/${id}/changes`, { 'sec-fetch-site': 'same-origin' }, VIEWER, 'POST')).status,
    ).toBe(405);
  });
});

describe('/changes', () => {
  it('goes on after Last-Event-ID, for some jobs', { tags: 'check' }, async () => {
    const first = await ask('/changes?job=told&job=other');
    await test.tock.enqueue(told, { note: '1' });
    await drain();
    const read = await readUntil(first, 'event: ended');
    const last = [...read.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '';
    await test.tock.enqueueMany([{ job: told, payload: { note: '2' } }, { job: other }]);
    await drain();
    const text = await readUntil(await ask('/changes?job=other', { 'last-event-id': last }), 'event: ended');
    expect(text).toContain(`id: ${last}\n\n`);
    expect([...text.matchAll(/"job":"(\w+)"/g)].map(([, job]) => job)).toEqual(['other']);
  });

  it('says by its status that a cursor is wrong, or too old, and how to go on', {
    tags: 'check',
  }, async () => {
    await test.tock.enqueue(told, { note: '' });
    await drain();
    const wrong = await ask('/changes', { 'last-event-id': '<script>' });
    expect([wrong.status, await wrong.json()]).toEqual([
      400,
      expect.objectContaining({ code: 'TOCK_BAD_CURSOR' }),
    ]);
    const origin = (await test.tock.changes.subscribe().begin()).slice(0, 8);
    await test.advance('8d');
    await test.tock.prune();
    const old = await ask('/changes', { 'last-event-id': `${origin}-0` });
    expect([old.status, await old.json()]).toEqual([
      410,
      { code: 'TOCK_CHANGES_GONE', message: expect.stringContaining('read the runs themselves') },
    ]);
  });

  it('reads nothing for a HEAD', async () => {
    const answer = await ask('/changes', {}, VIEWER, 'HEAD');
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });
});

describe('eventStream', () => {
  const change = (n: number): Change => ({
    cursor: `0a1b2c3d-${n}`,
    kind: 'ended',
    runId: `${n}`,
    job: 'told',
    definition: null,
    status: 'succeeded',
    attempts: 1,
    generation: 1,
    at: new Date(0),
  });
  /** Gives `count` changes, then none. */
  const subscriptionOf = (count: number) => {
    const asked = { next: 0, returned: 0 };
    let end: () => void = () => undefined;
    const ended = new Promise<void>(resolve => {
      end = resolve;
    });
    const subscription: ChangeSubscription = {
      cursor: '0a1b2c3d-9',
      begin: async () => '0a1b2c3d-0',
      next: async () => {
        asked.next++;
        if (asked.next <= count) return { done: false, value: change(asked.next) };
        await ended;
        return { done: true, value: undefined };
      },
      return: async () => {
        asked.returned++;
        end();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]: () => subscription,
    };
    return { subscription, asked };
  };

  const { signal } = new AbortController();

  it('says that it is alive, and how far it is, while nothing comes', async () => {
    const { subscription } = subscriptionOf(0);
    const stream = eventStream(
      subscription,
      { first: null, onEnd: () => undefined, signal },
      { heartbeatMs: 1 },
    );
    const text = await readUntil(new Response(stream), ': alive\nid: 0a1b2c3d-9\n\n');
    expect(text).toContain('id: 0a1b2c3d-9\n\n');
  });

  it('ends after its life, so that the client is asked again who it is', async () => {
    const { subscription, asked } = subscriptionOf(0);
    let ends = 0;
    const stream = eventStream(
      subscription,
      { first: null, onEnd: () => void ends++, signal },
      { heartbeatMs: 1, lifeMs: 3 },
    );
    await new Response(stream).text();
    expect([ends, asked.returned]).toEqual([1, 1]);
  });

  it('ends with its signal and after its life also where nobody reads it', async () => {
    const ended: string[] = [];
    const make = (name: string, endedBy: AbortSignal, lifeMs = 600_000) =>
      eventStream(
        subscriptionOf(0).subscription,
        { first: null, onEnd: () => void ended.push(name), signal: endedBy },
        { lifeMs },
      );
    const aborted = make('aborted', AbortSignal.abort());
    expect([ended, await new Response(aborted).text()]).toEqual([['aborted'], '']);
    const ending = new AbortController();
    make('aborts', ending.signal);
    expect(ended.length).toBe(1);
    ending.abort();
    expect(ended).toEqual(['aborted', 'aborts']);
    make('lived', signal, 1);
    await until(async () => ended.includes('lived'), 'the end of its life');
  });

  it('tells nothing of a run after its end, which was sent first', async () => {
    const change = (kind: Change['kind'], generation: number, cursor: string) =>
      ({ kind, runId: '1', generation, cursor, status: 'dead', attempt: 1 }) as unknown as Change;
    const told = [change('failed', 1, 'b'), change('ended', 1, 'c'), change('ended', 2, 'd')];
    const { subscription } = subscriptionOf(told.length);
    subscription.next = async () => {
      const value = told.shift();
      return value === undefined ? { done: true, value } : { done: false, value };
    };
    const stream = eventStream(subscription, {
      first: change('ended', 1, 'a'),
      onEnd: () => undefined,
      signal,
    });
    const text = await new Response(stream).text();
    expect(text.match(/^(?:id|event): .*/gm)).toEqual([
      'id: a',
      'event: ended',
      'id: b',
      'id: c',
      'id: d',
      'event: ended',
    ]);
  });

  it('reads no faster than its client, and ends the subscription when that leaves', async () => {
    const { subscription, asked } = subscriptionOf(1000);
    let ends = 0;
    const reader = eventStream(subscription, { first: null, onEnd: () => void ends++, signal }).getReader();
    expect(asked.next).toBe(0);
    for (let n = 0; n < 4; n++) await reader.read();
    expect(asked.next).toBe(3);
    await reader.cancel();
    expect([ends, asked.returned]).toEqual([1, 1]);
  });
});
