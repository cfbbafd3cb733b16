// When most definitions would vanish at once, the job module or the database is rather the wrong one.
import { TockError } from '../errors.js';

/** At least two, and more than half of those that there are. */
export function wouldLoseMost(present: number, vanishing: number): boolean {
  return vanishing >= 2 && vanishing * 2 > present;
}

export interface Vanishing {
  /** How many definitions of code there are. */
  readonly present: number;
  /** The names of those that would vanish. */
  readonly vanishing: readonly string[];
  /** The names of the jobs that were brought. */
  readonly jobs: readonly string[];
  /** Null if there is none. */
  readonly jobsModule: string | null;
  readonly schema: string;
  readonly database: string;
}

/** Names what would vanish, the probable cause, and what to do. */
export function vanishingError(found: Vanishing): TockError {
  const { present, vanishing, jobs, jobsModule, schema, database } = found;
  const which = vanishing.length === present ? `all ${present}` : `${vanishing.length} of the ${present}`;
  const origin = jobsModule === null ? '' : `, from ${jobsModule}`;
  return new TockError(
    'TOCK_WOULD_VANISH',
    `${which} definitions in the schema ${schema} of the database ${database} would vanish (${listed(vanishing)}), because this process has other jobs (${listed(jobs)}${origin}): probably the job module or DATABASE_URL is the wrong one. If it is right, run once: tock tick --allow-vanishing (in code: createTock({ allowVanishing: true }))`,
  );
}

const MAX_NAMES = 10;

function listed(names: readonly string[]): string {
  const sorted = [...names].sort();
  const more = sorted.length > MAX_NAMES ? ` and ${sorted.length - MAX_NAMES} more` : '';
  return `${sorted.slice(0, MAX_NAMES).join(', ')}${more}`;
}
