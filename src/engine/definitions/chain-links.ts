// The links of chains: which definition runs after which.
import { findCircle } from '../../model/planning/chain.js';
import type { DescribedDefinition } from '../../model/planning/definition.js';
import type { Session } from '../../store/connection/database.js';
import { markFollowed, readChainLinks } from '../../store/definitions/chain-links.js';

/** Marks the parents of these definitions, and those of them that others already run after. */
export async function linkChains(session: Session, written: readonly DescribedDefinition[]): Promise<void> {
  await markFollowed(session, {
    parents: [...new Set(written.flatMap(({ columns }) => columns.after?.definitions ?? []))].sort(),
    written: written.map(({ columns }) => columns.name).sort(),
  });
}

/** Null if no circle goes through one of the written definitions. */
export async function readCircle(
  session: Session,
  written: readonly DescribedDefinition[],
): Promise<string[] | null> {
  const chained = written.filter(({ columns }) => columns.after !== null).map(({ columns }) => columns.name);
  if (chained.length === 0) return null;
  return findCircle(await readChainLinks(session), chained);
}
