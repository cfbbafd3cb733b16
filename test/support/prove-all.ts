// Room: test support. I25: `tock prove` leaves nothing unexplained.
// In: a Tock. Out: what it finds, a line each.
import { afterEach } from 'vitest';
import type { Tock } from '../../src/index.js';

/** What a proof of all that was ever materialized, of all definitions, finds. */
export async function proveAll(tock: Pick<Tock, 'prove'>): Promise<string[]> {
  const { found, occurrences } = await tock.prove({ from: '2000-01-01T00:00:00Z' });
  if (occurrences === 0) return ['I25 there was nothing to prove: the experiment shows nothing'];
  return found.map(
    ({ definition, kind, at, text }) => `I25 ${definition} ${at?.toISOString() ?? ''}: ${kind}, ${text}`,
  );
}

/** After each test, of all that it did: nothing is left unexplained. */
export function proveAfterEach(test: { readonly tock: Pick<Tock, 'prove'> }): void {
  afterEach(async () => {
    const { found } = await test.tock.prove({ from: '2000-01-01T00:00:00Z' });
    if (found.length > 0) throw new Error(found.map(({ kind, text }) => `${kind}: ${text}`).join('\n'));
  });
}
