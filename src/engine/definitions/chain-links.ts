// The links of chains: which definition runs after which.
import { definitionsBefore, findCircle } from '../../model/planning/chain.js';
import type { DescribedDefinition } from '../../model/planning/definition.js';
import type { Session } from '../../store/connection/database.js';
import { markFollowed, readChainLinks } from '../../store/definitions/chain-links.js';
import { lookAgain } from '../../store/runs/waits/intervals.js';

/**
 * Marks the parents of these definitions, and those of them that others already run after. What waits for
 * occurrences is looked at again once this is committed: it may be these for which it waits, or its own
 * definition that no longer waits.
 */
export async function linkChains(session: Session, written: readonly DescribedDefinition[]): Promise<void> {
  const names = written.map(({ columns }) => columns.name).sort();
  await markFollowed(session, {
    parents: [...new Set(written.flatMap(({ columns }) => definitionsBefore(columns)))].sort(),
    written: names,
  });
  await lookAgain.run(session, { written: names });
}

/** Null if no circle goes through one of the written definitions. */
export async function readCircle(
  session: Session,
  written: readonly DescribedDefinition[],
): Promise<string[] | null> {
  const chained = written
    .filter(({ columns }) => definitionsBefore(columns).length > 0)
    .map(({ columns }) => columns.name);
  if (chained.length === 0) return null;
  return findCircle(await readChainLinks(session), chained);
}
