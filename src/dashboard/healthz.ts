// /healthz: for probes and monitors, without signing in. It says the level of the health, and why in one
// word.
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { Health } from '../model/health.js';
import type { Tock } from '../tock/types.js';
import { cached } from './cached.js';
import type { App } from './view.js';

/** Anyone may request it: many requests cost the database no more than one. */
const MAX_AGE_MS = 2000;
const MAX_KEPT = 20;

/**
 * Adds `GET /healthz?max_age=5m`: 200 with `ok`, `unknown` or `warning`, 503 with `failing` and the code of
 * the worst problem, or `failing database` where that cannot be reached. `max_age` is how long nothing may
 * tick. Names no host, job or error.
 */
export function addHealthz(app: App, tock: Tock): void {
  const asked = new Map<number | null, (tock: Tock) => Promise<Health>>();
  const ask = async (silentTickMs: number | null): Promise<Health> => {
    let read = asked.get(silentTickMs);
    if (read === undefined) {
      if (asked.size >= MAX_KEPT) asked.clear();
      read = cached(
        MAX_AGE_MS,
        async (of: Tock) => await of.health(silentTickMs === null ? {} : { silentTickMs }),
      );
      asked.set(silentTickMs, read);
    }
    return await read(tock);
  };
  app.get('/healthz', async c => {
    const maxAge = readMaxAge(c.req.query('max_age'));
    if (maxAge === 'bad') return c.text('max_age is not a duration such as 5m\n', 400);
    try {
      const { level, sentences } = await ask(maxAge);
      return level === 'failing' ? c.text(`failing ${sentences[0]?.code}\n`, 503) : c.text(`${level}\n`);
    } catch {
      return c.text('failing database\n', 503);
    }
  });
}

function readMaxAge(text: string | undefined): number | null | 'bad' {
  if (text === undefined) return null;
  try {
    return parseDuration(text, 'max_age');
  } catch (error) {
    if (error instanceof TockError) return 'bad';
    throw error;
  }
}
