// Opens a ticket for a run that ended dead: somebody has to look at it.
import { defineJob } from 'pg-tock';
import { z } from 'zod';
import type { Tables } from '../src/database.js';

export const openTicket = defineJob({
  name: 'open-ticket',
  payload: z.object({
    run: z.string(),
    job: z.string(),
    payload: z.unknown(),
    errors: z.array(z.object({ message: z.string() })),
  }),
  async run(ctx, { run, job, payload, errors }) {
    const text = `${job} ${JSON.stringify(payload)}: ${errors.at(-1)?.message ?? 'no error'}`;
    // The ticket, and that this run has succeeded: both or neither.
    await ctx.transaction(async trx => {
      await trx.withTables<Tables>().insertInto('tickets').values({ run, text }).execute();
    });
  },
});
