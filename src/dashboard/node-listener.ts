// The handler for Requests as a listener for Node's own: http.createServer, Express, Fastify, Nest.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { noteAddress } from './access/address.js';

/** A listener for `http.createServer`, Express, Fastify or Nest. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** What frameworks leave on a request: the address before they cut it, and a body that they have read. */
interface Framed {
  readonly originalUrl?: unknown;
  readonly body?: unknown;
  rawBody?: unknown;
}

export function nodeListener(fetch: (request: Request) => Promise<Response>): NodeListener {
  // An app's global Request and Response stay as they are.
  const listener = getRequestListener(
    async (request, { incoming }) => {
      noteAddress(request, incoming.socket.remoteAddress);
      return await fetch(request);
    },
    { overrideGlobalObjects: false },
  );
  return async (request, response) => {
    const framed = request as IncomingMessage & Framed;
    if (typeof framed.originalUrl === 'string') request.url = framed.originalUrl;
    if (request.readableEnded && !Buffer.isBuffer(framed.rawBody)) framed.rawBody = encodedAgain(framed.body);
    await listener(request, response);
  };
}

/** A form that a framework's parser has read before us; its fields are texts or lists of texts. */
function encodedAgain(body: unknown): Buffer {
  const fields = new URLSearchParams();
  if (typeof body === 'object' && body !== null) {
    for (const [name, value] of Object.entries(body))
      for (const each of [value].flat()) fields.append(name, String(each));
  }
  return Buffer.from(fields.toString());
}
