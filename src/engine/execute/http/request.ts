// Sends one HTTP request to the very address that was checked, without redirects; reads a bounded answer.
import { type LookupAddress, lookup as lookupBySystem } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { httpError } from '../../../model/http/ending.js';
import { refusalOf } from './addresses.js';

export const MAX_BODY_BYTES = 16 * 1024;
/** More is read than is kept, so that a secret which lies across the cut is found whole. */
const MAX_READ_BYTES = 2 * MAX_BODY_BYTES;
const MAX_HEADER_BYTES = 16 * 1024;

/** Resolves a host to all of its addresses, as node:dns does. */
export type Resolve = (
  host: string,
  options: { readonly all: true },
  done: (failure: Error | null, found: readonly LookupAddress[]) => void,
) => void;

export interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Takes out of the answer what nobody may see. */
  readonly hide: (text: string) => string;
  /** Ends it also while the body of the answer is read. */
  readonly signal: AbortSignal;
  /** What may be private, or without TLS. */
  readonly allow: readonly string[];
  /** Default: that of the system. */
  readonly resolve?: Resolve;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly isCut: boolean;
}

/**
 * Resolves to any answer, whatever its status.
 * @throws TockError TOCK_HTTP_REFUSED for an address that must not be connected to; what the network says
 */
export async function sendRequest(request: HttpRequest): Promise<RawAnswer> {
  const { url, method, headers, body, hide, signal, allow, resolve = lookupBySystem } = request;
  const isPlain = url.protocol === 'http:';
  const require = (host: string, address: string) => {
    const refusal = refusalOf(allow, { host, address, isPlain });
    if (refusal !== null) throw httpError('TOCK_HTTP_REFUSED', refusal, true);
  };
  // Node asks for the address of a name only. A URL has its numbers in one form, whatever was written.
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) require(host, host);
  /** What is connected to is what was checked: a second answer of the name's server is not asked for. */
  const lookup: LookupFunction = (name, { all }, done) => {
    resolve(name, { all: true }, (failure, found) => {
      try {
        if (failure !== null) throw failure;
        for (const { address } of found) require(name, address);
        const [first] = found;
        if (first === undefined) throw new Error(`${name} has no address`);
        if (all) done(null, [...found]);
        else done(null, first.address, first.family);
      } catch (error) {
        done(error as NodeJS.ErrnoException, '');
      }
    });
  };
  signal.throwIfAborted();
  const { request: begin } = isPlain ? await import('node:http') : await import('node:https');
  return await new Promise<RawAnswer>((answered, failed) => {
    const asked = begin(url, {
      method,
      headers: { ...headers, ...(body === null ? {} : { 'content-length': Buffer.byteLength(body) }) },
      signal,
      lookup,
      // A connection of its own: one that is kept may be to another address.
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    asked.on('response', response => void readAnswer(response, hide).then(answered, failed));
    // Without a listener neither an answer nor an error would tell of it.
    asked.on('upgrade', (_answer, socket) => {
      socket.destroy();
      failed(new Error('the answer switches protocols'));
    });
    asked.on('error', failed);
    asked.end(body ?? undefined);
  });
}

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const cut = (text: string) => decode(Buffer.from(text).subarray(0, MAX_BODY_BYTES));

async function readAnswer(response: IncomingMessage, hide: HttpRequest['hide']): Promise<RawAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop closes the connection: an endless body is not read.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_READ_BYTES) break;
  }
  const text = hide(decode(Buffer.concat(chunks)));
  const headers = Object.fromEntries(
    Object.entries(response.headers).map(([name, value]) => [name, hide([value].flat().join(', '))]),
  );
  return { status: response.statusCode ?? 0, headers, text: cut(text), isCut: bytes > MAX_BODY_BYTES };
}
