// Workers and their load, runs that no worker holds any more, and the last ticks.
export { readTicks } from '../store/reads/ticks.js';
export { type Orphans, readOrphans, readWorkerLoad, type WorkerLoad } from '../store/reads/worker-load.js';
