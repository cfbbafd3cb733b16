// The crawler's own tables. A page's status is null until it was visited, and 0 if that failed for good.
export const TABLES = `
create table if not exists crawls (
  crawl text primary key,
  is_cancelled boolean not null default false
);
create table if not exists pages (
  crawl text not null,
  url text not null,
  status integer,
  title text,
  primary key (crawl, url)
);`;

/** Adds pages to a crawl, and enqueues a run for each that is new. */
export async function addPages(trx, { crawl, urls, enqueue }) {
  if (urls.length === 0) return 0;
  const added = await trx
    .insertInto('pages')
    .values(urls.map(url => ({ crawl, url })))
    .onConflict(conflict => conflict.doNothing())
    .returning('url')
    .execute();
  for (const { url } of added) await enqueue({ crawl, url });
  return added.length;
}

/** How many pages of a crawl there are, and how many of them were visited. */
export async function countPages(db, crawl) {
  const { all, done } = await db
    .selectFrom('pages')
    .select(({ fn }) => [fn.countAll().as('all'), fn.count('status').as('done')])
    .where('crawl', '=', crawl)
    .executeTakeFirstOrThrow();
  return { all: Number(all), done: Number(done) };
}
