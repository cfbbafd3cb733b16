// Fetches a page, and finds its title and its links to the same host.
const MAX_LINKS = 200;

/** @returns the HTTP status, the title if there is one, and the links, each once and without its fragment */
export async function fetchPage(url, signal) {
  const response = await fetch(url, { signal, headers: { 'user-agent': 'tock-example-crawler' } });
  // The server's trouble may pass; that a page does not exist is a result.
  if (response.status === 429 || response.status >= 500)
    throw new Error(`${new URL(url).host} answered ${response.status}`);
  const isPage = response.ok && /^text\/html\b/.test(response.headers.get('content-type') ?? '');
  const text = isPage ? await response.text() : '';
  if (!isPage) await response.body?.cancel();
  const links = [...text.matchAll(/<a\s[^>]*href="([^"#]+)/g)]
    .filter(([, link]) => URL.canParse(link, url))
    .map(([, link]) => new URL(link, url))
    .filter(({ host }) => host === new URL(url).host)
    .map(({ href }) => href);
  return {
    status: response.status,
    title: /<title>([^<]*)/.exec(text)?.[1] ?? null,
    links: [...new Set(links)].slice(0, MAX_LINKS),
  };
}
