// Checks of what the schema consists of: what somebody has changed in it, and how large its indexes are.
import { psql } from '../problem-words.js';
import type { Finding } from '../problems.js';
import { joined, wrong } from './check.js';

/** Something that is not as the migrations made it. */
export interface Drift {
  /** Such as `index job_runs_live_key of job_runs_live`. */
  readonly object: string;
  readonly what: 'missing' | 'changed' | 'added';
}

const MOST_NAMED = 5;
const SAID = { missing: 'is missing', changed: 'was changed', added: 'was added' } as const;

export function driftFinding(drift: readonly Drift[]): Finding | null {
  if (drift.length === 0) return null;
  const more = drift.length > MOST_NAMED ? `; and ${drift.length - MOST_NAMED} more` : '';
  const named = drift.slice(0, MOST_NAMED).map(({ object, what }) => `${object} ${SAID[what]}`);
  return wrong(
    'warning',
    `it is not as the migrations made it: ${named.join('; ')}${more}`,
    'Undo that as the owner: TOCK_SCHEMA=tock_new tock migrate --sql prints how each was made, and changes nothing',
  );
}

export interface IndexHealth {
  readonly name: string;
  readonly bytes: number;
  /** Of its table, as statistics have them. */
  readonly rows: number;
  /** False: a build or rebuild of it has failed. */
  readonly isValid: boolean;
}

const MIB = 1024 * 1024;
/** Smaller ones are read in no time, however few entries they have. */
export const LARGE_INDEX_BYTES = 64 * MIB;
/** No entry of Tock's indexes has as many on average, half-filled pages included. */
const BYTES_A_ROW = 250;

export function checkIndexes(indexes: readonly IndexHealth[]): Finding {
  const found = indexes.flatMap(({ name, bytes, rows, isValid }) => {
    const index = `tock.${name}`;
    // PostgreSQL names it so where it was building it anew.
    const isLeftover = /_ccnew\d*$/.test(name);
    if (!isValid)
      return wrong(
        'warning',
        `the index ${name} is invalid: building it has failed, and it costs each write`,
        isLeftover
          ? 'Drop it, and rebuild the one that it was to replace again'
          : 'Rebuild it, beside the work',
        psql(isLeftover ? `drop index concurrently ${index}` : `reindex index concurrently ${index}`),
      );
    if (bytes < LARGE_INDEX_BYTES || bytes < rows * BYTES_A_ROW) return [];
    return wrong(
      'warning',
      `the index ${name} has ${Math.round(bytes / MIB)} MiB for about ${Math.round(rows)} rows: mostly pages that were emptied and never given back, which claims and vacuums read`,
      'Rebuild it, beside the work',
      psql(`reindex index concurrently ${index}`),
    );
  });
  return joined(found, 'none is bloated, none is invalid');
}
