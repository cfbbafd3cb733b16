import { defineJob, retryAfter, Snooze } from 'pg-tock';
import { z } from 'zod';

/** Begins an export in another system, and asks for it until it is ready. */
export const fetchExport = defineJob({
  name: 'fetch-export',
  payload: z.object({ report: z.string() }),
  async run(ctx, { report }) {
    const api = process.env.EXPORT_API;
    const begin = async () => await (await fetch(`${api}/${report}`, { method: 'POST' })).json();
    const { id } = await ctx.step('begin', begin);
    const response = await fetch(`${api}/${id}`, { signal: ctx.signal });
    if (response.status !== 202) return await response.json();
    throw new Snooze(retryAfter(response) ?? '30s', {
      reason: `export ${id} is not ready`,
      giveUpAfter: '2h',
    });
  },
});
