// The job module of workers that still run older code: without some of the jobs.
import type { AnyJob } from '../../../src/index.js';
import { jobs as newer } from './jobs.js';
import { NEWER_JOBS } from './load.js';

export const jobs: AnyJob[] = newer.filter(({ name }) => !NEWER_JOBS.includes(name));
