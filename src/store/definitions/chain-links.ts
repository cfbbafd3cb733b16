// The links of chains: which definition runs after which.
import { sql } from 'kysely';
import { definitionsBefore } from '../../model/planning/chain.js';
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
              .where(
                child =>
                  sql<boolean>`(${child.ref('c.after')} -> 'definitions' ? ${child.ref('p.name')} or ${child.ref('c.waits_for')} -> 'definitions' ? ${child.ref('p.name')})`,
              ),
          ),
        ]),
      ]),
    );
  await runQuery(session, query);
}

/** For each definition that can run, by name: what it runs after, or waits for. */
export async function readChainLinks(session: Session): Promise<Map<string, readonly string[]>> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select(['d.name', 'd.after', 'd.waits_for'])
    .where(eb => eb.or([isSet(eb.ref('d.after')), isSet(eb.ref('d.waits_for'))]))
    .where('d.vanished_at', 'is', null)
    .where('d.broken_at', 'is', null);
  const rows = await runQuery(session, query);
  return new Map(rows.map(row => [row.name, definitionsBefore(row)]));
}

/** Those of these definitions that have no times of their own. */
export async function readTimeless(session: Session, names: readonly string[]): Promise<string[]> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select('d.name')
    .where(eb => isAnyOf(eb.ref('d.name'), names, 'text'))
    .where('d.cron', 'is', null)
    .where('d.every_ms', 'is', null)
    .where('d.at', 'is', null);
  return (await runQuery(session, query)).map(({ name }) => name);
}
