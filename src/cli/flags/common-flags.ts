// Flags that stand for variables, which several commands take (runtime/configuration.ts).
import type { Command } from 'commander';
import { idle } from './flags.js';

export const IDLE = [
  '--idle <duration>',
  'after five minutes without work, leave the database alone until something is due, for so long at most (default never, or TOCK_IDLE)',
  idle,
] as const;
export const EMBEDDED = [
  '--embedded',
  'without DATABASE_URL, use the embedded PostgreSQL in .tock/',
] as const;
export const SERVICE = [
  '--service <name>',
  'the application whose jobs these are, where several share the schema (or TOCK_SERVICE)',
] as const;
export const ALLOW_VANISHING = [
  '--allow-vanishing',
  'register these jobs even if most definitions vanish',
] as const;

/** The commands that load jobs; of `schedule` and `alerts` all subcommands. */
const NEED_JOBS: ReadonlySet<string> = new Set([
  'tick',
  'start',
  'dashboard',
  'doctor',
  'jobs',
  'next',
  'run',
  'backfill',
  'simulate',
  'schedule',
  'alerts',
]);

/** Adds to a command, and to its subcommands, what names the settings' file and the job module. */
export function withSettings(command: Command): Command {
  addSettings(command, NEED_JOBS.has(command.name()));
  return command;
}

function addSettings(command: Command, needsJobs: boolean): void {
  for (const sub of command.commands) addSettings(sub, needsJobs);
  if (needsJobs) command.option('--jobs <file>', 'module that exports the array jobs (or TOCK_JOBS)');
  command.option('--env-file <file>', 'read variables from this file first, such as .env');
}
