// A web site for tests: page n links to 2n + 1 and 2n + 2, and to the first one. Counts what is asked of it.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** @param options `pages`, `delayMs` of each answer, `broken` paths, which answer with 500 */
export async function openSmallSite({ pages, delayMs = 5, broken = [] }) {
  const visits = new Map();
  const reports = [];
  const seen = { atOnce: 0, mostAtOnce: 0 };
  const answer = async (request, response) => {
    const path = request.url ?? '/';
    if (request.method === 'POST') {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      reports.push(JSON.parse(body));
      return response.writeHead(204).end();
    }
    visits.set(path, (visits.get(path) ?? 0) + 1);
    seen.atOnce += 1;
    seen.mostAtOnce = Math.max(seen.mostAtOnce, seen.atOnce);
    await sleep(delayMs);
    seen.atOnce -= 1;
    const page = path === '/' ? 0 : Number(/^\/page\/(\d+)$/.exec(path)?.[1] ?? Number.NaN);
    const status = broken.includes(path) ? 500 : page < pages ? 200 : 404;
    const next = [2 * page + 1, 2 * page + 2].filter(each => each < pages);
    const links = next.map(each => `<a href="/page/${each}#top">next</a>`).join(' ');
    return response
      .writeHead(status, { 'content-type': 'text/html; charset=utf-8' })
      .end(
        `<title>Page ${page}</title> ${links} <a href="/">home</a> <a href="https://example.com/">away</a>`,
      );
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    visits,
    reports,
    mostAtOnce: () => seen.mostAtOnce,
    close: () => server.close(),
  };
}
