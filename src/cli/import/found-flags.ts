// The flags that imports from other schedulers have in common.
import type { Command } from 'commander';
import { count, instant } from '../flags/flags.js';
import { DEFAULT_DAYS } from './finish-import.js';

export function withFoundFlags(command: Command): Command {
  return command
    .option('--out <file>', 'write the code there (default: standard output)')
    .option('--report <file>', 'write the report there (default: standard error)')
    .option('--dry-run', 'compare the instants of each schedule there and in Tock, and write nothing')
    .option('--from <instant>', 'with --dry-run: from when on (default now)', instant)
    .option('--days <n>', `with --dry-run: how many days (default ${DEFAULT_DAYS})`, count(1, 3660))
    .option('-y, --yes', 'do not ask');
}

/** For sources that are tables. */
export function withDatabaseFlags(command: Command): Command {
  return command.option('--database <url>', 'the database of these schedules (default: DATABASE_URL)');
}
