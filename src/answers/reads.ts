// How pages read: sessions that cannot write, and what their errors mean.
export { readClock } from '../store/connection/clock.js';
export type { Session } from '../store/connection/database.js';
export { explainDatabaseError, isStoppedStatement } from '../store/connection/errors.js';
export { openReadSession, type ReadSession } from '../store/connection/read-only.js';
