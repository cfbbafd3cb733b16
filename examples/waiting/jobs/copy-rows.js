import { defineJob } from 'pg-tock';

/** Copies a large table. A deploy interrupts it, and the next worker goes on where it was. */
export const copyRows = defineJob({
  name: 'copy-rows',
  async run(ctx) {
    const last = await ctx.cursor('rows', 0);
    for (;;) {
      ctx.signal.throwIfAborted();
      const page = ctx.db
        .selectFrom('source')
        .selectAll()
        .where('id', '>', last.value)
        .orderBy('id')
        .limit(500);
      const rows = await page.execute();
      if (rows.length === 0) return last.value;
      await ctx.db
        .insertInto('target')
        .values(rows)
        .onConflict(key => key.doNothing())
        .execute();
      await last.advance(rows.at(-1).id);
    }
  },
});
