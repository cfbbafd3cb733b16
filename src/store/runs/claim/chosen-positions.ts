// From which of many queues and priorities one claim takes runs. Each costs a descent into the index, however
// few runs it gives: so a claim takes more runs from some of them, and the next one from the others.
import type { ClaimPosition } from './claim.js';

const MAX_POSITIONS = 100;
/** After so many claims each queue of the most urgent priority has had its turn, however many there are. */
const MAX_CLAIMS = 8;

interface Chosen {
  readonly asked: readonly ClaimPosition[];
  /** For the next claims, as they were. */
  readonly unasked: readonly ClaimPosition[];
}

/** The first positions of the most urgent priorities, in the order given within each. */
export function choosePositions(positions: readonly ClaimPosition[], most = MAX_POSITIONS): Chosen {
  if (positions.length <= most) return { asked: positions, unasked: [] };
  const counts = new Map<number, number>();
  for (const { priority } of positions) counts.set(priority, (counts.get(priority) ?? 0) + 1);
  const byPriority = [...counts].toSorted(([one], [other]) => one - other);
  /** How many of each priority are still to be chosen. */
  const wanted = new Map<number, number>();
  let left = Math.max(most, Math.ceil((byPriority[0]?.[1] ?? 0) / MAX_CLAIMS));
  for (const [priority, count] of byPriority) {
    wanted.set(priority, Math.min(count, left));
    left -= Math.min(count, left);
  }
  const asked: ClaimPosition[] = [];
  const unasked: ClaimPosition[] = [];
  for (const position of positions) {
    const count = wanted.get(position.priority) ?? 0;
    wanted.set(position.priority, count - 1);
    (count > 0 ? asked : unasked).push(position);
  }
  return { asked, unasked };
}
