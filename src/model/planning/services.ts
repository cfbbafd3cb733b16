// Services: applications that share a database. The names of jobs, queues and keys are one space; a
// definition belongs to the service whose code has it.
import { TockError } from '../errors.js';
import { checkName } from '../names.js';

const MAX_SERVICE_BYTES = 100;
export const DEFAULT_QUEUE = 'default';
/** How the default queues of named services begin. */
export const OWN_QUEUE = 'default:';

/** Empty: the service without a name. @throws TockError TOCK_BAD_OPTION */
export function checkService(service: string): string {
  if (service === '') return '';
  checkName(service, 'service', 'TOCK_BAD_OPTION');
  if (Buffer.byteLength(service) <= MAX_SERVICE_BYTES) return service;
  throw new TockError('TOCK_BAD_OPTION', `a service’s name has at most ${MAX_SERVICE_BYTES} bytes`);
}

/**
 * The queue of the jobs that state none. A named service has one of its own, which the others' workers leave
 * alone as a rule: they have not the code.
 */
export const defaultQueue = (service: string) => (service === '' ? DEFAULT_QUEUE : `${OWN_QUEUE}${service}`);

/** Whether it is `default`, or named as the default queue of a service. */
export const isDefaultQueue = (queue: string) => queue === DEFAULT_QUEUE || queue.startsWith(OWN_QUEUE);

/** Whether it is the default queue of another service. */
export const isOthersQueue = (queue: string, service: string) =>
  queue.startsWith(OWN_QUEUE) && queue !== defaultQueue(service);

/** Who has a name that another service wants. */
export interface Holder {
  readonly name: string;
  readonly service: string;
}

/** The set that a service has in force. */
export interface SetInForce {
  readonly service: string;
  /** It has not been seen for five minutes. */
  readonly is_stale: boolean;
}

/**
 * Which of these names are refused, and from which services the others are taken. A service gives its names
 * away once it is gone. The one without a name gives them away at once to a set that is new: that is how an
 * app gets a name.
 * @param wasSeenBefore the set that wants them was in force once
 */
export function takeNames(
  holders: readonly Holder[],
  inForce: readonly SetInForce[],
  wasSeenBefore: boolean,
): { readonly refused: readonly Holder[]; readonly from: readonly string[] } {
  const keeps = ({ service }: Holder) =>
    (service !== '' || wasSeenBefore) && inForce.some(each => each.service === service && !each.is_stale);
  const given = holders.filter(holder => !keeps(holder)).map(({ service }) => service);
  return { refused: holders.filter(keeps), from: [...new Set(given)].sort() };
}

const MAX_NAMES = 10;

/** @param service that wants the names */
export function nameTakenError(service: string, refused: readonly Holder[]): TockError {
  const [first] = refused;
  const all = refused.slice(0, MAX_NAMES).map(({ name, service: holder }) => `${name} by ${holder}`);
  const more = refused.length > MAX_NAMES ? ` and ${refused.length - MAX_NAMES} more` : '';
  const who = service === '' ? 'this process, of the service without a name,' : `the service ${service}`;
  return new TockError(
    'TOCK_NAME_TAKEN',
    `${who} defines jobs that another service of this database has: ${all.join(', ')}${more}. Nothing is registered. Rename the job here; or deploy ${first?.service ?? 'it'} without it first; or, if ${first?.service ?? 'it'} is to execute it, put declareJob in place of defineJob. If both are one application, give both the same service`,
  );
}

// When most definitions would vanish at once, the job module or the database is rather the wrong one.

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
  /** Empty: it has no name. */
  readonly service: string;
  readonly schema: string;
  readonly database: string;
}

/** Names what would vanish, the probable cause, and what to do. */
export function vanishingError(found: Vanishing): TockError {
  const { present, vanishing, jobs, jobsModule, service, schema, database } = found;
  const of = service === '' ? '' : ` of the service ${service}`;
  const which = vanishing.length === present ? `all ${present}` : `${vanishing.length} of the ${present}`;
  const origin = jobsModule === null ? '' : `, from ${jobsModule}`;
  const ifTwo =
    service === ''
      ? `If two applications share this database, give each a name: createTock({ service: 'billing' }), TOCK_SERVICE; or a schema of its own: TOCK_SCHEMA`
      : `If they are another application's, which has the name ${service} too, give one of both another name, here or there: createTock({ service }), TOCK_SERVICE; or a schema of its own: TOCK_SCHEMA`;
  return new TockError(
    'TOCK_WOULD_VANISH',
    `${which} definitions${of} in the schema ${schema} of the database ${database} would vanish (${listed(vanishing)}), because this process has other jobs (${listed(jobs)}${origin}). Probably the job module or DATABASE_URL is the wrong one. ${ifTwo}. If these definitions are to go, run once: tock tick --allow-vanishing (in code: createTock({ allowVanishing: true }))`,
  );
}

function listed(names: readonly string[]): string {
  const sorted = [...names].sort();
  const more = sorted.length > MAX_NAMES ? ` and ${sorted.length - MAX_NAMES} more` : '';
  return `${sorted.slice(0, MAX_NAMES).join(', ')}${more}`;
}
