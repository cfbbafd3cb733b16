// Workers and their load, runs that no worker holds any more or takes, and the last ticks.
export { readOverlooked } from '../store/reads/runs/overlooked.js';
export { readTicks } from '../store/reads/ticks.js';
export { type Orphans, readOrphans, readWorkerLoad, type WorkerLoad } from '../store/reads/worker-load.js';
