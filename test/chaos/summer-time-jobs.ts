// The job module of the tests with a clock that runs fast. Bundled by esbuild, and named in TOCK_JOBS.
import { defineJob } from '../../src/index.js';

export const jobs = [defineJob({ name: 'noted', run: () => null })];
