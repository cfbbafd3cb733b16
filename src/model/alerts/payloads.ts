// The message in each channel's form.
import { createHmac } from 'node:crypto';
import { TockError } from '../errors.js';
import type { AlertMessage } from './message.js';

/** The body of a webhook: `type`, `timestamp` and `data`, as the Standard Webhooks specification has it. */
export function webhookBody(message: AlertMessage, timestamp: string): string {
  const { title, text, url, alerts } = message;
  const type = message.isTest ? 'tock.test' : 'tock.alert';
  return JSON.stringify({ type, timestamp, data: { title, text, url, alerts } });
}

/**
 * The headers that sign it.
 * @param secret `whsec_` and base64, or any text
 * @param seconds the time of this attempt, since the epoch: receivers refuse one that is minutes off
 */
export function webhookHeaders(
  id: string,
  body: string,
  secret: string,
  seconds: number,
): Record<string, string> {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  if (key.length === 0)
    throw new TockError(
      'TOCK_BAD_OPTION',
      'the secret that signs is whsec_ without a key: whsec_ comes before at least 24 random bytes in base64',
    );
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
  };
}

/** Slack reads `&`, `<` and `>` as markup, such as a mention of everybody. */
const escapeSlack = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** For incoming webhooks of Slack and those that are compatible. */
export function slackBody({ title, text, alerts }: AlertMessage): string {
  const isDown = alerts.some(({ status }) => status === 'down');
  const lines = alerts.length > 1 ? `*${escapeSlack(title)}*\n${escapeSlack(text)}` : escapeSlack(text);
  return JSON.stringify({ text: `${isDown ? ':red_circle:' : ':white_check_mark:'} ${lines}` });
}

/** Environment variables of a command. */
export function commandVariables({ id, title, text, url, alerts }: AlertMessage): Record<string, string> {
  const [first] = alerts;
  return {
    TOCK_ALERT_ID: id,
    TOCK_ALERT_TITLE: title,
    TOCK_ALERT_TEXT: text.slice(0, 10_000),
    TOCK_ALERT_URL: (alerts.length === 1 ? first?.url : url) ?? '',
    TOCK_ALERT_COUNT: String(alerts.length),
    TOCK_ALERT_RULE: first?.rule ?? '',
    TOCK_ALERT_SUBJECT: first?.subject ?? '',
    TOCK_ALERT_STATUS: alerts.some(({ status }) => status === 'down') ? 'down' : 'up',
  };
}

/** Takes secrets out of a text, such as an error or an answer, also as JSON or a URL writes them. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const long = secrets
    .filter(secret => secret.length >= 4)
    .flatMap(secret => [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret.toWellFormed()),
    ])
    .toSorted((a, b) => b.length - a.length);
  return long.reduce((left, secret) => left.replaceAll(secret, '***'), text);
}
