// Where the next batch of due definitions begins: after the last one. From the beginning it would walk over
// all that earlier batches have moved on, and over what the batch beside it has locked.
import { type DuePosition, FIRST_DUE } from '../../store/definitions/due.js';

/**
 * Shared by batches that go on side by side. A hint only: what a batch left behind, because it failed or
 * another tick had locked it, is found from the beginning. Only a batch from there that finds nothing is the
 * last.
 */
export class DueWalk {
  private reached = FIRST_DUE;

  /** Where the next batch begins. */
  get position(): DuePosition {
    return this.reached;
  }

  /** A batch has locked its definitions, up to this one. If the next one was faster, nothing changes. */
  reach(last: DuePosition): void {
    if (isAfter(last, this.reached)) this.reached = last;
  }

  /** A batch has left definitions after this one to the next batch. */
  goBackTo(last: DuePosition): void {
    if (isAfter(this.reached, last)) this.reached = last;
  }

  /**
   * A batch that began here has found nothing, so the next one begins at the beginning. Returns whether this
   * one did: then nothing is left but what a batch beside it has locked.
   */
  foundNothing(began: DuePosition): boolean {
    this.reached = FIRST_DUE;
    return began === FIRST_DUE;
  }
}

const isAfter = (one: DuePosition, other: DuePosition): boolean =>
  one.next_ms > other.next_ms || (one.next_ms === other.next_ms && BigInt(one.id) > BigInt(other.id));
