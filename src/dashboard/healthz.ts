// /healthz: for probes and monitors, without signing in. It says the level of the health, and nothing else.
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { HealthLevel } from '../model/health.js';
import type { Tock } from '../tock/types.js';
import type { App } from './view.js';

/** Everybody may ask, so that many who ask cost the database no more than one. */
const MAX_AGE_MS = 2000;
const MAX_KEPT = 20;

interface Asked {
  readonly at: number;
  readonly level: Promise<HealthLevel>;
}

/**
 * Adds `GET /healthz?max_age=5m`: 200 with `ok`, `unknown` or `warning`, 503 with `failing` or `unreachable`.
 * `max_age` is how long nothing may tick. Names no host, job or error.
 */
export function addHealthz(app: App, tock: Tock): void {
  const asked = new Map<number | null, Asked>();
  const ask = (silentTickMs: number | null): Promise<HealthLevel> => {
    const kept = asked.get(silentTickMs);
    if (kept !== undefined && performance.now() - kept.at < MAX_AGE_MS) return kept.level;
    if (asked.size >= MAX_KEPT) asked.clear();
    const level = tock.health(silentTickMs === null ? {} : { silentTickMs }).then(health => health.level);
    asked.set(silentTickMs, { at: performance.now(), level });
    return level;
  };
  app.get('/healthz', async c => {
    const maxAge = readMaxAge(c.req.query('max_age'));
    if (maxAge === 'bad') return c.text('max_age is not a duration such as 5m\n', 400);
    try {
      const level = await ask(maxAge);
      return c.text(`${level}\n`, level === 'failing' ? 503 : 200);
    } catch {
      return c.text('unreachable\n', 503);
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
