// A slot of a limit, or what else a run is blocked on, as text.
import { fairKeyOf, jobOfCodeKey, SUSPECTS } from '../run/limits.js';

/** `the turn of report`, `a slot of job load for tenant-7`: what a run's concurrency key stands for. */
export function slotText(
  key: string,
  { job, definition }: { readonly job: string; readonly definition: string | null },
): string {
  const own = `job:${job}`;
  const unknown = jobOfCodeKey(key);
  if (unknown !== null) return `a worker whose code has job ${unknown}`;
  const fair = fairKeyOf(key);
  if (fair !== null) return `the turn of key ${fair.key}`;
  if (key.startsWith('definition:')) return `the turn of ${definition ?? 'its definition'}`;
  if (key === SUSPECTS.key) return 'a slot for runs that get a process of their own';
  if (key.startsWith('queue:')) return `a slot of queue ${key.slice('queue:'.length)}`;
  if (key === own) return `a slot of job ${job}`;
  if (key.startsWith(`${own}/`)) return `a slot of job ${job} for ${key.slice(own.length + 1)}`;
  return `a slot of ${key}`;
}

/** The same of the key alone. @param definition the name of the definition that it stands for */
export function keyText(key: string, definition: string | null): string {
  const job = /^job:([^/]+)/.exec(key)?.[1] ?? '';
  return slotText(key, { job, definition });
}
