// Posts JSON to a URL. TLS, unless the receiver is on this host; no redirect, which would carry the message
// to another one.
const EXCERPT = 300;

export interface PostOptions {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Allows http:// to other hosts. */
  readonly insecure: boolean;
}

/** Resolves to what was answered, in a line. @throws for any answer but 2xx */
export async function post(url: string, { body, headers, signal, insecure }: PostOptions): Promise<string> {
  const { host } = requireSafe(url, insecure);
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    body,
    headers: { 'content-type': 'application/json', 'user-agent': 'tock', ...headers },
    signal,
  });
  const answer = `${host} answered ${response.status}${await readExcerpt(response)}`;
  if (response.ok) return answer;
  const isRedirect = response.status >= 300 && response.status < 400;
  throw new Error(isRedirect ? `${answer}; redirects are not followed: configure the final URL` : answer);
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i;

/** @throws for a URL that is none, or not of HTTP, or without TLS to another host */
function requireSafe(url: string, insecure: boolean): URL {
  if (!URL.canParse(url)) throw new Error('the URL cannot be read');
  const parsed = new URL(url);
  if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')
    throw new Error('the URL must begin with https://');
  if (parsed.protocol === 'http:' && !insecure && !LOOPBACK.test(parsed.hostname))
    throw new Error(`the URL has no TLS: write https://, or insecure: true if ${parsed.host} has none`);
  return parsed;
}

/** Whether a host is this one. */
export const isLoopback = (host: string) => LOOPBACK.test(host) || host === '::1';

/** The first characters of the answer, without reading what comes after them. */
async function readExcerpt({ body }: Response): Promise<string> {
  if (body === null) return '';
  const decoder = new TextDecoder();
  let text = '';
  // Leaving the loop closes the stream.
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= EXCERPT) break;
  }
  const line = text.slice(0, EXCERPT).replaceAll(/\s+/g, ' ').trim();
  return line === '' ? '' : `: ${line}`;
}
