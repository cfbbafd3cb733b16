// Room: store. Idempotency keys that are used already.
// In: keys. Out: those of them that have a run, or had one.
import type { Session } from './database.js';

export async function readTakenKeys(session: Session, keys: readonly string[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set();
  const rows = await session.run<{ key: string }>(
    'select k.idempotency_key as key from tock.job_keys k where k.idempotency_key = any($1::text[])',
    [keys],
  );
  return new Set(rows.map(row => row.key));
}
