// Room: engine. The links of chains: which definition is waited for by which.
// In: definitions that were just written, in their transaction. Out: their parents marked; circles and gaps found.
import { findCircle } from '../../model/planning/chain.js';
import type { DescribedDefinition } from '../../model/planning/definition.js';
import type { Session } from '../../store/connection/database.js';

const LINK = `
update tock.job_definitions p set has_followers = true
where not p.has_followers and (p.name = any($1::text[]) or (p.name = any($2::text[]) and exists (
  select from tock.job_definitions c where c.after is not null and c.after -> 'definitions' ? p.name)))`;

/** Marks what these definitions run after, and those of them that others run after already. */
export async function linkChains(session: Session, written: readonly DescribedDefinition[]): Promise<void> {
  const parents = [...new Set(written.flatMap(({ columns }) => columns.after?.definitions ?? []))].sort();
  await session.run(LINK, [parents, written.map(({ columns }) => columns.name).sort()]);
}

const LINKS = `
select name, array(select jsonb_array_elements_text(after -> 'definitions')) as parents
from tock.job_definitions where after is not null and vanished_at is null and broken_at is null`;

/** A circle that goes through one of the written definitions; null where there is none. */
export async function readCircle(
  session: Session,
  written: readonly DescribedDefinition[],
): Promise<string[] | null> {
  const chained = written.filter(({ columns }) => columns.after !== null).map(({ columns }) => columns.name);
  if (chained.length === 0) return null;
  const links = await session.run<{ name: string; parents: string[] }>(LINKS);
  return findCircle(new Map(links.map(link => [link.name, link.parents])), chained);
}

/** Those of the names that no definition has. */
export async function readMissing(session: Session, names: readonly string[]): Promise<string[]> {
  const rows = await session.run<{ name: string }>(
    `select n.name from unnest($1::text[]) as n(name)
     where not exists (select from tock.job_definitions d where d.name = n.name and d.vanished_at is null) order by 1`,
    [names],
  );
  return rows.map(row => row.name);
}
