// A real HTTP server on 127.0.0.1 that keeps what is posted to it.
// In: how to answer. Out: its URL, and what arrived.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Posted {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly host: string;
  readonly posted: Posted[];
  /** How it answers from now on. Default: 200 with `ok`. */
  answer(respond: (response: ServerResponse, posted: Posted) => void): void;
  close(): Promise<void>;
}

export async function openReceiver(): Promise<Receiver> {
  const posted: Posted[] = [];
  let respond = (response: ServerResponse, _posted: Posted): void => void response.end('ok');
  const server = createServer((request, response) => {
    text(request).then(
      body => {
        const { method, url: path, headers } = request;
        const each = { method, path, headers, body };
        posted.push(each);
        respond(response, each);
      },
      () => undefined,
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}/hook/t0p-s3cret`,
    host,
    posted,
    answer: next => {
      respond = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
