// Operators: who acts on the scheduler, through what, and what each role may do.
import { TockError } from './errors.js';
import { isStorable, quote } from './names.js';
import { checkOptions, optionNames } from './options.js';

/** Each includes those before it. */
export const ROLES = ['view', 'operate', 'admin'] as const;
/** What an operator may do: look, operate, or administer. Each includes those before it. */
export type Role = (typeof ROLES)[number];

/**
 * What the operator acted through. `api`: the library. `agent`: the Model Context Protocol. `alert`: a rule
 * that acts by itself.
 */
export const VIAS = ['page', 'cli', 'api', 'agent', 'alert'] as const;
/** What an operator acts through. */
export type Via = (typeof VIAS)[number];

/** A person for whom a Tock acts. */
export interface Operator {
  /** As people know them; 1 to 200 characters. */
  readonly name: string;
  readonly via: Via;
  readonly role: Role;
  /** Whether payloads and outputs are shown to them. */
  readonly seesPayloads: boolean;
}

/** Every action that is audited, by its method of a Tock, and the role that it needs. */
export const ACTIONS = {
  enqueue: 'operate',
  emit: 'operate',
  'groups.continue': 'operate',
  'groups.retry': 'operate',
  'groups.cancel': 'operate',
  complete: 'operate',
  fail: 'operate',
  extend: 'operate',
  'runs.retry': 'operate',
  'runs.edit': 'operate',
  'runs.cancel': 'operate',
  'schedules.pause': 'operate',
  'schedules.resume': 'operate',
  'schedules.skip': 'operate',
  'schedules.move': 'operate',
  'schedules.restore': 'operate',
  'schedules.backfill': 'operate',
  'queues.pause': 'operate',
  'queues.resume': 'operate',
  'keys.open': 'operate',
  'alerts.mute': 'operate',
  'alerts.unmute': 'operate',
  'alerts.test': 'operate',
  'deploys.mark': 'operate',
  forgetHost: 'operate',
  'schedules.upsert': 'admin',
  'schedules.remove': 'admin',
  'schedules.resetCursors': 'admin',
  freeze: 'admin',
  thaw: 'admin',
  'queues.set': 'admin',
  'queues.reset': 'admin',
  'queues.remove': 'admin',
  'calendars.set': 'admin',
  'calendars.remove': 'admin',
  'keys.set': 'admin',
  'keys.reset': 'admin',
  prune: 'admin',
  adopt: 'admin',
  migrate: 'admin',
} as const satisfies Record<string, Role>;
/** An action that is audited. */
export type Action = keyof typeof ACTIONS;

/** What executes runs and registers jobs. It is the scheduler's own work, and not audited. */
export const WORK = {
  'runs.wait': 'operate',
  progress: 'operate',
  tick: 'operate',
  start: 'operate',
  register: 'admin',
} as const satisfies Record<string, Role>;
export type Work = keyof typeof WORK;

const NEEDS: Readonly<Record<Action | Work, Role>> = { ...ACTIONS, ...WORK };

/** Whether a role includes another. */
export function includesRole(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** Whether an operator of this role may do this. */
export function mayDo(role: Role, action: Action | Work): boolean {
  return includesRole(role, NEEDS[action]);
}

/** @param operator null: the app itself, which may do everything. @throws TockError TOCK_FORBIDDEN */
export function requireRole(operator: Operator | null, action: Action | Work): void {
  if (operator === null || mayDo(operator.role, action)) return;
  throw new TockError(
    'TOCK_FORBIDDEN',
    `${action} needs the role ${NEEDS[action]}; ${quote(operator.name)} has the role ${operator.role}`,
  );
}

const OPTIONS = optionNames<Operator>({ name: true, via: true, role: true, seesPayloads: true });

/**
 * Checks an operator.
 * @param by for whom the Tock acts already: they cannot act for an operator with more rights. Null: the app
 * @throws TockError TOCK_BAD_OPTION, TOCK_FORBIDDEN
 */
export function checkOperator(operator: Operator, by: Operator | null): Operator {
  checkOptions(operator, OPTIONS, 'operator');
  const { name, via, role, seesPayloads } = operator;
  checkOperatorName(name);
  if (!VIAS.includes(via)) throw bad(`via ${quote(via)} is none of ${VIAS.join(', ')}`);
  if (!ROLES.includes(role)) throw bad(`role ${quote(role)} is none of ${ROLES.join(', ')}`);
  if (typeof seesPayloads !== 'boolean')
    throw bad(`seesPayloads ${quote(seesPayloads)} is neither true nor false`);
  if (by && (!includesRole(by.role, role) || (seesPayloads && !by.seesPayloads)))
    throw new TockError(
      'TOCK_FORBIDDEN',
      `${quote(by.name)} cannot act for ${quote(name)}, who has more rights`,
    );
  return { name, via, role, seesPayloads };
}

/** @throws TockError TOCK_BAD_OPTION */
export function checkOperatorName(name: unknown): string {
  if (typeof name === 'string' && name.trim() !== '' && name.length <= 200 && isStorable(name)) return name;
  throw bad(`${quote(name)} cannot be the name of an operator: write 1 to 200 characters`);
}

function bad(message: string): TockError {
  return new TockError('TOCK_BAD_OPTION', message);
}

/** The actions of a name: one action, or all of a group such as `queues`. Empty if there are none. */
export function actionsNamed(name: string): readonly Action[] {
  return (Object.keys(ACTIONS) as Action[]).filter(
    action => action === name || action.startsWith(`${name}.`),
  );
}

/**
 * Stands for a payload or an output that the operator may not see. In an edit of a schedule by them it stands
 * for the stored payload.
 */
export const REDACTED = '[redacted]';

interface Sensitive {
  readonly payload: unknown;
  readonly output?: unknown;
}

/** A run or definition with what it holds replaced; null stays null. */
export function redacted<Held extends Sensitive>(record: Held): Held {
  const hide = (value: unknown) => (value === null || value === undefined ? value : REDACTED);
  return {
    ...record,
    payload: hide(record.payload),
    ...('output' in record ? { output: hide(record.output) } : {}),
  };
}
