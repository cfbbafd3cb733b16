// The body of a form: not too large, not too slow, and of a kind that a form has.

/** A payload may have 1 MiB, and each of its bytes may be sent as three. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_MS = 10_000;

export type Body =
  | { readonly request: Request }
  | { readonly status: 400 | 408 | 413 | 415; readonly message: string };

export interface BodyLimits {
  readonly maxBytes?: number;
  readonly maxMs?: number;
}

/** Reads it whole; resolves to the same request with the fields in memory. Browsers end lines with CRLF. */
export async function readBody(request: Request, limits: BodyLimits = {}): Promise<Body> {
  const { maxBytes = MAX_BYTES, maxMs = MAX_MS } = limits;
  const tooLarge = { status: 413, message: `a form may have ${maxBytes} bytes` } as const;
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return tooLarge;
  if (request.body === null) return { request };
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded' && type !== 'multipart/form-data')
    return { status: 415, message: 'only forms are accepted' };
  const bytes = await collect(request.body, maxBytes, maxMs);
  if (bytes === 'large') return tooLarge;
  if (bytes === 'slow') return { status: 408, message: 'the form did not arrive in time' };
  const { url, method, headers, signal } = request;
  const form = await new Response(bytes, { headers }).formData().catch(() => null);
  if (form === null) return { status: 400, message: 'the form cannot be read' };
  const fields = new URLSearchParams();
  for (const [name, value] of form)
    if (typeof value === 'string') fields.append(name, value.replaceAll('\r\n', '\n'));
  const sent = new Headers(headers);
  for (const name of ['content-type', 'content-length']) sent.delete(name);
  return { request: new Request(url, { method, headers: sent, signal, body: fields }) };
}

async function collect(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  maxMs: number,
): Promise<Uint8Array<ArrayBuffer> | 'large' | 'slow'> {
  const reader = body.getReader();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'slow'>(resolve => {
    timer = setTimeout(resolve, maxMs, 'slow');
  });
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const next = await Promise.race([reader.read(), late]);
      if (next === 'slow') return 'slow';
      if (next.done) return joined(parts, size);
      size += next.value.byteLength;
      if (size > maxBytes) return 'large';
      parts.push(next.value);
    }
  } finally {
    clearTimeout(timer);
    reader.releaseLock();
  }
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.byteLength;
  }
  return all;
}
