// Sends a message to a channel, within its time, and returns what the receiver answered. No secret is in an
// error: neither a URL, whose path often is one, nor a password.
import { readFile } from 'node:fs/promises';
import type { AlertMessage } from '../../../model/alerts/message.js';
import { slackBody, webhookBody, webhookHeaders, withoutSecrets } from '../../../model/alerts/payloads.js';
import type { Channel } from '../../../model/alerts/read-alerts.js';
import type { Source } from '../../../model/alerts/sources.js';
import { TockError } from '../../../model/errors.js';
import { messageOnOneLine } from '../../../model/run/errors/root-cause.js';
import { describeError, redact } from '../../../model/run/sanitize.js';
import { runCommand } from './command.js';
import { post } from './http.js';

export interface SendOptions {
  /** Ends the attempt, as a drain does. */
  readonly signal: AbortSignal;
  /** The database's time: ISO text, and seconds since the epoch. */
  readonly at: string;
  readonly seconds: number;
}

/** @throws Error that says what went wrong, without secrets */
export async function send(channel: Channel, message: AlertMessage, options: SendOptions): Promise<string> {
  const tooLong = AbortSignal.timeout(channel.timeoutMs);
  const signal = AbortSignal.any([options.signal, tooLong]);
  const secrets: string[] = [];
  const read = async (source: Source) => {
    const value = await readSecret(source, channel.name);
    secrets.push(value, ...partsOf(value));
    return value;
  };
  try {
    return clean(await sendBy(channel, message, { ...options, signal }, read), secrets);
  } catch (error) {
    options.signal.throwIfAborted();
    const reason = tooLong.aborted
      ? `no answer within ${channel.timeoutMs / 1000} s`
      : messageOnOneLine(describeError(error, 1));
    // oxlint-disable-next-line eslint/preserve-caught-error -- it may hold what is taken out here
    throw new Error(`channel ${channel.name}: ${clean(reason, secrets)}`);
  }
}

async function sendBy(
  channel: Channel,
  message: AlertMessage,
  { signal, at, seconds }: SendOptions,
  read: (source: Source) => Promise<string>,
): Promise<string> {
  if (channel.kind === 'webhook') {
    const [url, secret] = [await read(channel.url), await read(channel.secret)];
    const body = webhookBody(message, at);
    const headers = webhookHeaders(message.id, body, secret, seconds);
    return await post(url, { body, headers, signal, insecure: channel.insecure });
  }
  if (channel.kind === 'slack') {
    const url = await read(channel.url);
    return await post(url, { body: slackBody(message), headers: {}, signal, insecure: channel.insecure });
  }
  if (channel.kind === 'command') return await runCommand(channel, message, signal);
  // Loaded late: other channels do not need nodemailer.
  const { sendMail } = await import('./mail.js');
  return await sendMail(channel, await read(channel.smtp), message, signal);
}

async function readSecret(source: Source, channel: string): Promise<string> {
  if (source.from === 'code') return source.value;
  if (source.from === 'env') {
    const value = process.env[source.name]?.trim();
    if (value) return value;
    throw new TockError(
      'TOCK_BAD_OPTION',
      `the environment variable ${source.name} is not set; channel ${channel} needs it`,
    );
  }
  try {
    const value = (await readFile(source.path, 'utf8')).trim();
    if (value !== '') return value;
  } catch (error) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `the file ${source.path} cannot be read (${(error as { code?: string }).code ?? 'no code'}); channel ${channel} needs it`,
    );
  }
  throw new TockError('TOCK_BAD_OPTION', `the file ${source.path} is empty; channel ${channel} needs it`);
}

/** What of a URL is a secret: the path with the query, the password. */
function partsOf(value: string): string[] {
  if (!URL.canParse(value)) return [];
  const { pathname, search, password } = new URL(value);
  return [`${pathname}${search}`, pathname, password, decodeURIComponent(password)].filter(
    part => part.length >= 4,
  );
}

const clean = (text: string, secrets: readonly string[]) =>
  redact(withoutSecrets(text, secrets)).replaceAll(/\s+/g, ' ').slice(0, 500).toWellFormed();
