// Sends one mail over SMTP (SMTP_URL, MAIL_FROM), or writes it to a folder (OUTBOX_DIR). The Message-ID comes
// from the mail's key: should a mail ever go out twice, the receiver can recognize it.
import { createHash } from 'node:crypto';
import path from 'node:path';
import { createTransport, type NodemailerError, type SendMailOptions } from 'nodemailer';
import { writeAtomically } from './write-atomically.js';

export interface Mail {
  /** What the mail stands for, such as `invoice-reminder:812:8`. Equal keys give equal Message-IDs. */
  readonly key: string;
  readonly to: string | { readonly name: string; readonly address: string };
  readonly subject: string;
  readonly text: string;
  readonly attachments?: readonly {
    readonly filename: string;
    readonly content: string;
    readonly contentType: string;
  }[];
}

/** `file` is the `.eml` in the outbox; null when the mail went to a server. */
export type Delivery = { readonly messageId: string; readonly file: string | null };

const TIMEOUT_MS = 20_000;

/**
 * Sends one mail: to the server at SMTP_URL, else as an `.eml` file into OUTBOX_DIR (default `./outbox`).
 *
 * Takes no signal: a mail cut off half-way may or may not have been accepted, so stop between mails. The
 * timeouts bound the wait.
 *
 * @throws the server's refusal or the connection's failure; {@link mailFault} distinguishes them
 */
export async function sendMail({ key, attachments = [], ...mail }: Mail): Promise<Delivery> {
  const from = process.env['MAIL_FROM'] || 'Tock <tock@localhost>';
  const hash = createHash('sha256').update(key).digest('hex');
  const domain = /@([\w.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost';
  const messageId = `<${hash.slice(0, 32)}@${domain}>`;
  const message: SendMailOptions = {
    ...mail,
    from,
    messageId,
    attachments: [...attachments],
    // What a mail says may come from a customer: it must not name a file of this host.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  const url = process.env['SMTP_URL'];
  if (url) {
    const server = createTransport({
      url,
      dnsTimeout: TIMEOUT_MS,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
    });
    await server.sendMail(message);
    return { messageId, file: null };
  }
  const composer = createTransport({ streamTransport: true, buffer: true });
  const composed = await composer.sendMail(message);
  // The hash keeps `a:b` and `a-b` apart.
  const name = `${key.replace(/[^\w.-]+/g, '-').slice(0, 100)}.${hash.slice(0, 8)}.eml`;
  const file = path.resolve(process.env['OUTBOX_DIR'] || 'outbox', name);
  await writeAtomically(file, composed.message as Buffer);
  return { messageId, file };
}

/**
 * Whose fault a failed mail is: `refused` and `deferred` concern this mail alone, for good (5xx) or for now
 * (4xx), and others can be tried; null concerns the connection, the sender or the program.
 */
export function mailFault(error: unknown): 'refused' | 'deferred' | null {
  const { code, command, permanent, responseCode } = error as NodemailerError;
  // No address, or one that cannot be written in SMTP: it was not even offered to the server.
  if (code === 'EENVELOPE' && command === 'API') return 'refused';
  // 421: the server is closing down.
  if ((command !== 'RCPT TO' && command !== 'DATA') || responseCode === 421) return null;
  return permanent ? 'refused' : 'deferred';
}
