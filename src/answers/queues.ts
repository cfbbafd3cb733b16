// Queues: what waits, what runs, and what holds them up.
export { readQueueHandOffs } from '../store/reads/queue-hand-offs.js';
export {
  type BlockingKey,
  type Holder,
  MAX_BLOCKED,
  MAX_COUNTED,
  type QueueLoad,
  readBlockingKeys,
  readQueueLoad,
} from '../store/reads/queue-load.js';
export { readPausedQueues, readQueueNames } from '../store/reads/queue-names.js';
export { isQueueNamed, readBacklog } from '../store/reads/queues.js';
export { type HoldingQueue, readHoldingQueue } from '../store/reads/runs/run-detail.js';
export { type BusyKey, readBusyKeys, readKeysIn } from '../store/runs/fair/busy-keys.js';
