// The job module of the bad inputs on the command line. Bundled by esbuild, and named in TOCK_JOBS.
import { z } from 'zod';
import { defineJob } from '../../src/index.js';

export const jobs = [
  defineJob({ name: 'plain', run: () => null }),
  defineJob({ name: 'typed', payload: z.object({ n: z.number() }), run: () => null }),
];
