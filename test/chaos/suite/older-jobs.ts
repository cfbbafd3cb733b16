// The job module of workers that still run older code: without some of the jobs, and one without `batch`.
import type { AnyJob } from '../../../src/index.js';
import { jobs as newer, packedBefore } from './jobs.js';
import { NEWER_JOBS } from './load.js';

export const jobs: AnyJob[] = newer
  .filter(({ name }) => !NEWER_JOBS.includes(name))
  .map(job => (job.name === packedBefore.name ? packedBefore : job));
