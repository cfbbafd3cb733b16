// Room: test support. A database as a process in real time has it.
import { systemClock } from '../../src/environment/system-clock.js';
import {
  type Database,
  type DatabaseOptions,
  openDatabase as openWithClock,
} from '../../src/store/connection/database.js';

/** In real time, unless the test hands in another clock. */
export const openDatabase = (options: Partial<DatabaseOptions>): Database =>
  openWithClock({ clock: systemClock, ...options });
