import { defineJob } from 'pg-tock';
import { z } from 'zod';

export const resize = defineJob({
  name: 'resize',
  payload: z.object({ image: z.number() }),
  run: (_ctx, { image }) => `${image}.webp`,
});

/** Executed once, when all images of an album are there. */
export const publish = defineJob({
  name: 'publish',
  async run(ctx) {
    const files = [];
    for await (const { output } of ctx.group.results()) files.push(output);
    return files;
  },
});
