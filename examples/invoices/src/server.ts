// The app's HTTP server: POST /invoices.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type App, issueInvoice, newInvoice } from './invoices.js';

const MAX_BYTES = 10_000;

export function createApp(app: App): Server {
  return createServer((request, response) => {
    const answer = async (): Promise<readonly [number, unknown]> => {
      if (request.method !== 'POST' || request.url !== '/invoices') return [404, { error: 'not found' }];
      const read = newInvoice.safeParse(await readJson(request));
      if (!read.success) return [400, { error: read.error.issues.map(({ message }) => message) }];
      return [201, { id: await issueInvoice(app, read.data) }];
    };
    void answer()
      .catch((error: unknown) => [500, { error: String(error) }] as const)
      .then(([status, body]) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
      });
  });
}

/** Undefined for what is no JSON. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > MAX_BYTES) return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
