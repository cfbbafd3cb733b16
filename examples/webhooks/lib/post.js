import { retryAfter } from 'pg-tock';
import { z } from 'zod';

export const webhook = z.object({ customer: z.string(), url: z.url(), event: z.string() });

/** @returns how long to wait, in milliseconds, where the customer has answered 429; else null */
export async function post({ url, event }, signal) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ event }),
    signal,
  });
  if (response.status === 429) return retryAfter(response) ?? 30_000;
  if (!response.ok) throw new Error(`${url} has answered ${response.status}`);
  return null;
}
