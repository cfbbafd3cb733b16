// How many attempts ended in which way.

/**
 * `waiting`: the handler ended to wait. `deferred`: claimed outside the window, without a slot under a limit,
 * or too long before its handler could be called. `handedOff`: another system is to complete it. `lost`: the
 * lease had expired before the outcome could be written.
 */
export type OutcomeCounts = Record<
  | 'claimed'
  | 'succeeded'
  | 'failed'
  | 'dead'
  | 'cancelled'
  | 'skipped'
  | 'deferred'
  | 'released'
  | 'waiting'
  | 'handedOff'
  | 'lost',
  number
>;

export function noOutcomes(): OutcomeCounts {
  return {
    claimed: 0,
    succeeded: 0,
    failed: 0,
    dead: 0,
    cancelled: 0,
    skipped: 0,
    deferred: 0,
    released: 0,
    waiting: 0,
    handedOff: 0,
    lost: 0,
  };
}

/** Adds up what workers of one process did. */
export function addTo(total: OutcomeCounts, more: Readonly<OutcomeCounts>): void {
  for (const word of Object.keys(total) as (keyof OutcomeCounts)[]) total[word] += more[word];
}

/** How many attempts have not ended. */
export function unfinished({ claimed, ...ended }: Readonly<OutcomeCounts>): number {
  return claimed - Object.values(ended).reduce((sum, number) => sum + number, 0);
}
