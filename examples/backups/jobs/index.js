// The jobs of this project. Tock reads this module.
import { checkBackups } from './check-backups.js';
import { dumpDatabase } from './dump-database.js';
import { pruneBackups } from './prune-backups.js';

export const jobs = [dumpDatabase, pruneBackups, checkBackups];
