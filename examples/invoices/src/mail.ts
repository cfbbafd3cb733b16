// Sends mails by an HTTP API, and says which of its refusals are worth another attempt.
import { Dead, retryAfter, Snooze } from 'pg-tock';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The API sends no second mail with the same key. */
  readonly key: string;
}

const TIMEOUT_MS = 10_000;

/** @returns the API's id of the mail */
export async function sendMail({ key, ...mail }: Mail, signal: AbortSignal): Promise<string> {
  const address = process.env['MAIL_API'];
  if (!address) throw new Dead('MAIL_API is not set: set it, then tock retry this run');
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(mail),
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  const text = await response.text();
  if (response.ok) return text;
  const answer = `the mail API answered ${response.status}: ${text.slice(0, 200)}`;
  const wait = retryAfter(response);
  // It is busy: no attempt is lost.
  if (response.status === 429 && wait !== null) throw new Snooze(wait, { reason: answer, giveUpAfter: '1d' });
  if (response.status === 429 || response.status >= 500) throw new Error(answer);
  // It would refuse the same mail again.
  throw new Dead(answer);
}
