// Names that nothing has, refused in one way by every command: wrong usage, with what was probably meant. A
// variable may be another program's, so that a warning has to do.
import { DASHBOARD_VARIABLES } from '../dashboard/server/variables.js';
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';
import { didYouMean } from '../model/nearest.js';
import { misspeltVariables } from '../runtime/configuration.js';
import type { Tock } from '../tock/types.js';
import { jobsInCode } from './jobs-in-code.js';
import type { Shell } from './shell.js';

/** The most definitions that are listed. */
export const MAX_DEFINITIONS = 100_000;

/** Calls what fails with TOCK_NOT_FOUND for an unknown definition. @throws TockError TOCK_UNKNOWN_JOB */
export async function onDefinition<T>(tock: Tock, name: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof TockError && error.code === 'TOCK_NOT_FOUND')) throw error;
    throw await unknownDefinition(tock, name);
  }
}

export async function unknownDefinition(tock: Tock, name: string): Promise<TockError> {
  const known = (await tock.schedules.list({ limit: MAX_DEFINITIONS })).map(each => each.name);
  return new TockError(
    'TOCK_UNKNOWN_JOB',
    `there is no definition ${quote(name)} in the database${didYouMean(name, known) || ' (tock jobs lists them; the next tick registers those in code)'}`,
  );
}

/** Filters of runs by name. */
export interface NamedFilter {
  readonly job?: string | undefined;
  readonly definition?: string | undefined;
}

/**
 * For a filter that matched no run: refuses a job or a definition that is neither in code nor in the
 * database.
 * @throws TockError TOCK_UNKNOWN_JOB
 */
export async function requireKnown(
  shell: Shell,
  tock: Tock,
  { job, definition }: NamedFilter,
): Promise<void> {
  if (job === undefined && definition === undefined) return;
  const records = await tock.schedules.list({ limit: MAX_DEFINITIONS, removed: true });
  // Perhaps not registered yet. A module that cannot be loaded is the concern of other commands.
  const inCode = (await jobsInCode(shell).catch(() => [])).map(each => each.name);
  const names = [...inCode, ...records.map(each => each.name)];
  if (definition !== undefined && !names.includes(definition))
    throw unknownName('definition', definition, names);
  const jobs = new Set([...inCode, ...records.map(each => each.job)]);
  if (job === undefined || jobs.has(job)) return;
  // One-off runs of a job that is no longer in code.
  if ((await tock.runs.list({ job, limit: 1 })).length === 0) throw unknownName('job', job, jobs);
}

/** What neither code nor the database has. */
export function unknownName(what: string, name: string, known: Iterable<string>): TockError {
  return new TockError(
    'TOCK_UNKNOWN_JOB',
    `there is no ${what} ${quote(name)}, neither in code nor in the database${didYouMean(name, known) || ' (tock jobs lists them)'}`,
  );
}

/**
 * For a filter that found nothing: refuses a service of which there is no definition, worker or tick.
 * @throws TockError TOCK_BAD_OPTION
 */
export async function requireService(shell: Shell, tock: Tock, service: string): Promise<void> {
  const records = await tock.schedules.list({ limit: MAX_DEFINITIONS, removed: true });
  const { workers, ticks } = await tock.status();
  const found = [...records, ...workers, ...ticks].map(each => each.service);
  const known = [...new Set([...found, shell.config.service])].filter(name => name !== '').sort();
  if (service === '' || known.includes(service)) return;
  const others = known.length === 0 ? ': none has a name' : `: there are ${known.join(', ')}`;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `there is no service ${quote(service)} in the database${didYouMean(service, known) || others}`,
  );
}

/** For commands that go by the variables for long, or look for what is wrong. */
export function noteMisspelt(shell: Shell): void {
  const dashboard = Object.keys(DASHBOARD_VARIABLES).flatMap(name => [name, `${name}_FILE`]);
  const misspelt = misspeltVariables(process.env, dashboard);
  if (misspelt !== null) shell.note(misspelt);
}
