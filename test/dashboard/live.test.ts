// The stream that an open page follows: it says that there is something new, and nothing else.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { addLive } from '../../src/dashboard/live/live-routes.js';
import { countStreams } from '../../src/dashboard/live/text-stream.js';
import type { App, View } from '../../src/dashboard/view.js';
import { type Authorized, createDashboard } from '../../src/dashboard.js';
import { createTock, defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openRecorder } from '../support/recorded-connection.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const told = defineJob({ name: 'told', changes: true, run: () => 'a secret' });
const quiet = defineJob({ name: 'quiet', run: () => 'a secret' });
const test = openForEach(() => reuseTestTock([told, quiet]));

const VIEWER: Authorized = { user: 'ann', role: 'view' };
const open = (as: Authorized | null = VIEWER, tock = test.tock) => {
  const dashboard = createDashboard({ tock, authorize: () => as });
  return async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    await dashboard.fetch(new Request(`http://localhost${path}`, { headers, method }));
};

function readerOf(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let read = '';
  return {
    /** Reads on until a text has come; gives what came since the last. */
    until: async (text: string) => {
      while (!read.includes(text)) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`the stream ended before ${text}`);
        read += decoder.decode(value, { stream: true });
      }
      const end = read.indexOf(text) + text.length;
      const given = read.slice(0, end);
      read = read.slice(end);
      return given;
    },
    close: async () => await reader.cancel(),
  };
}

describe('/live', () => {
  it('begins with whether there is more than the page shows, and tells of each change without saying what', async () => {
    const ask = open();
    const answer = await ask('/live?seen=older');
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      'no-store',
    ]);
    const stream = readerOf(answer);
    const text = [await stream.until('event: changed\ndata: 0\n\n')];
    for (const job of [told, quiet]) {
      await test.tock.enqueue(job);
      await test.tock.tick();
      text.push(await stream.until('event: changed\ndata: 0\n\n'));
    }
    await stream.close();
    expect(text.join('')).toMatch(
      /^retry: 3000\n\n(?:(?:id: [0-9a-f]{32}\n)?event: (?:changed|alive)\ndata: 0\n\n)+$/,
    );
  });

  it('is refused to who may not look, and reads nothing for a HEAD', async () => {
    expect((await open(null)('/live')).status).toBe(401);
    const head = await open()('/live', {}, 'HEAD');
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('tells who joins of what others were told since its page was read', async () => {
    const watch = {
      version: 2,
      seen: 'b',
      join: () => ({ next: async () => false, leave: () => undefined }),
    };
    const first = async (version: number) => {
      const app: App = new Hono();
      app.use(async (c, next) => {
        c.set('view', { version, frame: { seen: 'a' } } as View);
        await next();
      });
      addLive(app, watch, countStreams());
      return await (await app.request('/live?seen=a')).text();
    };
    expect(await first(1)).toContain('event: changed');
    expect(await first(2)).not.toContain('event: changed');
  });

  it('ends when its dashboard is closed, and lets the server be closed; then it is refused', async () => {
    const dashboard = createDashboard({ tock: test.tock, authorize: () => VIEWER });
    const server = createServer((request, response) => void dashboard.listener(request, response));
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const streams = await Promise.all(['/live', '/changes'].map(async path => await fetch(base + path)));
    const texts = streams.map(async stream => await stream.text());
    await dashboard.close();
    await Promise.all(texts);
    const refused = await dashboard.fetch(new Request('http://localhost/live'));
    expect(refused.status).toBe(503);
    await new Promise(resolve => server.close(resolve));
  });

  it('ends when its Tock is closed', async () => {
    const tock = createTock({ connectionString: test.url, jobs: [told], logger: false });
    const stream = await open(VIEWER, tock)('/live?seen=older');
    const text = stream.text();
    await tock.close();
    expect(await text).toContain('event: changed');
  });

  it('is refused beyond 200 streams, those of changes among them; one that ends makes room', {
    tags: 'check',
  }, async () => {
    const ask = open();
    const streams = [await ask('/changes')];
    while (streams.length < 200) streams.push(await ask('/live'));
    const refused = [await ask('/live'), await ask('/changes')];
    expect(refused.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual([
      [503, '30'],
      [503, '30'],
    ]);
    await streams.pop()?.body?.cancel();
    const next = await ask('/live');
    expect(next.status).toBe(200);
    for (const { body } of [...streams, next]) await body?.cancel();
  });

  it('is followed by a page that says when a part of it was read before what it was told of', {
    tags: 'check',
  }, async () => {
    const { tock } = test;
    let release: () => void = () => undefined;
    const released = new Promise<void>(resolve => {
      release = resolve;
    });
    let asked = 0;
    const health = async () => {
      asked++;
      await released;
      return await tock.health();
    };
    const as = tock.as.bind(tock);
    Object.assign(tock, { as: (user: Parameters<typeof as>[0]) => ({ ...as(user), health }) });
    const ask = open();
    const before = ask('/');
    await until(async () => asked > 0, 'the health to be asked');
    const stream = readerOf(await ask('/live?seen=older'));
    await stream.until('event: changed\ndata: 0\n\n');
    await tock.enqueue(told);
    await stream.until('event: changed\ndata: 0\n\n');
    const after = ask('/');
    // Both have begun to wait for the health once a page that asks later is there.
    await (await ask('/runs')).text();
    release();
    const pages = await Promise.all([before, after].map(async page => await (await page).text()));
    expect(pages.map(text => text.includes('data-stale'))).toEqual([false, true]);
    await stream.close();
  });

  it('costs one small statement a look, for all pages together; a page costs many', {
    tags: 'check',
  }, async () => {
    const recorder = await openRecorder(test.url);
    const tock = createTock({ connectionString: recorder.url, jobs: [quiet], logger: false });
    try {
      const ask = open(VIEWER, tock);
      const count = async (work: () => Promise<unknown>) => {
        const before = recorder.statements().length;
        await work();
        return recorder.statements().slice(before);
      };
      const isPulse = (text: string) => text.includes('as pulse');
      await (await ask('/runs')).text();
      const page = await count(async () => await (await ask('/runs')).text());
      const streams = await Promise.all(
        Array.from({ length: 20 }, async () => await ask('/live?seen=older')),
      );
      const readers = streams.map(readerOf);
      for (const reader of readers) await reader.until('event: changed\ndata: 0\n\n');
      await test.tock.enqueue(quiet);
      const looks = await count(async () => {
        for (const reader of readers) await reader.until('event: changed\ndata: 0\n\n');
      });
      for (const reader of readers) await reader.close();
      // Each look is its transaction's three statements; at most two of them find out.
      expect(looks.filter(isPulse).length).toBeLessThanOrEqual(2);
      expect(looks.filter(text => !isPulse(text) && !/^(?:begin|commit|listen)/i.test(text))).toEqual([]);
      expect(page.length).toBeGreaterThan(6);
    } finally {
      await tock.close();
      await recorder.close();
    }
  });
});
