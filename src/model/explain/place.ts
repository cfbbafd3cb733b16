// Room: model. A place under a limit in words.
// In: a concurrency key, and the run that needs a place under it. Out: text. Pure.
import { SUSPECTS } from '../run/limits.js';

/** `the turn of report`, `a place of job load for tenant-7`: what a concurrency key of a run stands for. */
export function placeWords(
  key: string,
  { job, definition }: { readonly job: string; readonly definition: string | null },
): string {
  const own = `job:${job}`;
  if (key.startsWith('definition:')) return `the turn of ${definition ?? 'its definition'}`;
  if (key === SUSPECTS.key) return `a place of runs that get a process of their own`;
  if (key.startsWith('queue:')) return `a place of queue ${key.slice('queue:'.length)}`;
  if (key === own) return `a place of job ${job}`;
  if (key.startsWith(`${own}:`)) return `a place of job ${job} for ${key.slice(own.length + 1)}`;
  return `a place under ${key}`;
}
