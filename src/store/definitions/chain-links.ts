// The links of chains: which definition runs after which.
import { sql } from 'kysely';
import type { Session } from '../connection/database.js';
import { db, isAnyOf, isSet, runQuery } from '../connection/query.js';

/** Marks definitions that others run after: `parents` in any case, `written` only if a chain names them. */
export async function markFollowed(
  session: Session,
  { parents, written }: { readonly parents: readonly string[]; readonly written: readonly string[] },
): Promise<void> {
  const query = db
    .updateTable('tock.job_definitions as p')
    .set({ has_followers: true })
    .where('p.has_followers', '=', false)
    .where(eb =>
      eb.or([
        isAnyOf(eb.ref('p.name'), parents, 'text'),
        eb.and([
          isAnyOf(eb.ref('p.name'), written, 'text'),
          eb.exists(
            eb
              .selectFrom('tock.job_definitions as c')
              .select('c.id')
              .where('c.after', 'is not', null)
              .where(
                child => sql<boolean>`${child.ref('c.after')} -> 'definitions' ? ${child.ref('p.name')}`,
              ),
          ),
        ]),
      ]),
    );
  await runQuery(session, query);
}

/** For each definition that can run, by name: what it runs after. */
export async function readChainLinks(session: Session): Promise<Map<string, readonly string[]>> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select(eb => ['d.name', eb.ref('d.after').$notNull().as('after')])
    .where(eb => isSet(eb.ref('d.after')))
    .where('d.vanished_at', 'is', null)
    .where('d.broken_at', 'is', null);
  const rows = await runQuery(session, query);
  return new Map(rows.map(({ name, after }) => [name, after.definitions]));
}
