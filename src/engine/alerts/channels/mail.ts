// Sends a mail by nodemailer, an optional package. The connection uses TLS with a certificate that is
// verified, unless the server is on this host.
import type { AlertMessage } from '../../../model/alerts/message.js';
import type { Channel } from '../../../model/alerts/read-alerts.js';
import { TockError } from '../../../model/errors.js';
import { isLoopback } from './http.js';

type MailChannel = Extract<Channel, { readonly kind: 'mail' }>;

/** Resolves to what the server answered. */
export async function sendMail(
  { to, from, insecure, timeoutMs }: MailChannel,
  smtp: string,
  message: AlertMessage,
  signal: AbortSignal,
): Promise<string> {
  const { createTransport } = await loadNodemailer();
  if (!URL.canParse(smtp) || !/^smtps?:$/.test(new URL(smtp).protocol))
    throw new Error('the URL of the mail server must begin with smtps:// or smtp://');
  const { hostname } = new URL(smtp);
  const isTrusted = insecure || isLoopback(hostname);
  const transport = createTransport({
    url: smtp,
    // smtp:// must be upgraded, so that neither the mail nor the password can be read on the way.
    requireTLS: !isTrusted,
    // A server that offers TLS is taken at its word, also one with a certificate of its own making.
    tls: { rejectUnauthorized: !isTrusted },
    dnsTimeout: timeoutMs,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  });
  const stop = () => transport.close();
  signal.addEventListener('abort', stop, { once: true });
  const domain = /@([\w.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost';
  const sending = transport.sendMail({
    from,
    to: [...to],
    subject: message.title,
    text: `${message.text}\n`,
    messageId: `<${message.id}@${domain}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    // What an alert says may come from outside: it must not name a file of this host.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const { response } = await Promise.race([sending, aborted(signal)]);
    return `${hostname} answered ${response}`;
  } finally {
    signal.removeEventListener('abort', stop);
    transport.close();
    sending.catch(() => undefined);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(new Error('the mail was not accepted in time'));
    if (signal.aborted) fail();
    signal.addEventListener('abort', fail, { once: true });
  });
}

/** A name that the build does not see: the package is the project's, not a part of Tock's bundles. */
const PACKAGE: string = 'nodemailer';

async function loadNodemailer() {
  try {
    // oxlint-disable-next-line typescript/consistent-type-imports -- loaded late, by a variable
    return (await import(PACKAGE)) as typeof import('nodemailer');
  } catch (error) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'a mail channel needs the package nodemailer: npm install nodemailer',
      {
        cause: error,
      },
    );
  }
}
