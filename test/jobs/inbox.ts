// A real SMTP server on 127.0.0.1 that keeps what it accepts.
// In: rules for replies. Out: its URL, and the mails it accepted, parsed.
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { callbackify } from 'node:util';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';

export interface Inbox {
  readonly url: string;
  /** Accepted mails, in the order of their acceptance. */
  readonly mails: readonly Email[];
  /** Addresses that were asked for, accepted or not. */
  readonly asked: readonly string[];
  /** Replies to RCPT TO of an address with this code from now on; 0 lifts it. */
  answer(address: string, code: number): void;
  /** Replies to MAIL FROM with this code from now on; 0 lifts it. */
  answerSender(code: number): void;
  close(): Promise<void>;
}

/** @param hasTls whether it offers STARTTLS, with a self-signed certificate */
export async function openInbox({ hasTls = false } = {}): Promise<Inbox> {
  const mails: Email[] = [];
  const asked: string[] = [];
  const codes = new Map<string, number>();
  let senderCode = 0;
  const keep = callbackify(async (stream: Readable) => {
    mails.push(await PostalMime.parse(await buffer(stream)));
  });
  const server = new SMTPServer({
    disabledCommands: hasTls ? ['AUTH'] : ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    onMailFrom: (_address, _session, done) => done(senderCode === 0 ? null : refusal(senderCode)),
    onRcptTo: ({ address }, _session, done) => {
      asked.push(address);
      const code = codes.get(address) ?? 0;
      done(code === 0 ? null : refusal(code));
    },
    onData: (stream, _session, done) => keep(stream, done),
  });
  // A sender that is killed resets its connection.
  server.on('error', () => undefined);
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    asked,
    answer: (address, code) => void codes.set(address, code),
    answerSender: code => {
      senderCode = code;
    },
    close: () =>
      new Promise(resolve => {
        server.close(resolve);
      }),
  };
}

function refusal(responseCode: number): Error {
  return Object.assign(new Error('not now, not here'), { responseCode });
}
