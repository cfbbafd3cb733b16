// Whether a worker's claims pass over runs whose jobs only another service has, where both claim from one
// queue.
//
// As long as claims find plenty for this code, they leave the others where they are: nothing is written for
// them. A claim that does not find enough is followed by one that takes what there is, and gives back what it
// cannot execute, so that no later claim reads it again. So it is never for long that claims read past many
// runs to find few.

/** What a claim has brought, and whether there may be more. */
export interface Brought {
  /** Runs of jobs that this code has. */
  readonly own: number;
  /** Runs that are given back. */
  readonly others: number;
  readonly hasMore: boolean;
}

/** Claims read past so many runs at most to find one, as far as the last claim of all tells. */
const MOST_PASSED = 10;

/** @param didPass whether the claim passed over such runs */
export const passesOver = (didPass: boolean, { own, others, hasMore }: Brought): boolean =>
  hasMore && (didPass || (others > 0 && others <= own * MOST_PASSED));
