// Room: engine/definitions. The links of chains: which definition runs after which.
// In: definitions that were just written, in their transaction. Out: their parents marked; a circle found.
import { findCircle } from '../../model/planning/chain.js';
import type { DescribedDefinition } from '../../model/planning/definition.js';
import type { Session } from '../../store/connection/database.js';
import { markFollowed, readChainLinks } from '../../store/definitions/chain-links.js';

/** Marks what these definitions run after, and those of them that others run after already. */
export async function linkChains(session: Session, written: readonly DescribedDefinition[]): Promise<void> {
  await markFollowed(session, {
    parents: [...new Set(written.flatMap(({ columns }) => columns.after?.definitions ?? []))].sort(),
    written: written.map(({ columns }) => columns.name).sort(),
  });
}

/** A circle that goes through one of the written definitions; null where there is none. */
export async function readCircle(
  session: Session,
  written: readonly DescribedDefinition[],
): Promise<string[] | null> {
  const chained = written.filter(({ columns }) => columns.after !== null).map(({ columns }) => columns.name);
  if (chained.length === 0) return null;
  return findCircle(await readChainLinks(session), chained);
}
