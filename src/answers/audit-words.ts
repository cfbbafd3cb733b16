// A row of the audit in words: what was done, to what, and what is worth knowing of it.
import type { AuditRecord, Details } from '../model/audit.js';
import { formatDuration } from '../model/duration.js';
import { fairWords } from '../model/explain/fair-turn.js';
import { rateWords } from '../model/explain/queue-state.js';
import type { FairScope } from '../model/job/fair/fair.js';
import type { Action } from '../model/operator.js';
import { FILTER_FIELDS } from '../model/run/match/filter-text.js';
import { MAX_COUNTED } from '../model/run/match/run-match.js';

/** `paused`, `the queue mails`, `the printer is on fire`. */
export interface AuditWords {
  readonly did: string;
  readonly what: string;
  readonly facts: readonly string[];
}

type Described = Pick<AuditRecord, 'action' | 'targets' | 'count' | 'details'>;

/** Of an action that this version does not know, its own name. */
export function auditWords(record: Described): AuditWords {
  const words = isKnown(record.action) ? WORDS[record.action](record) : null;
  return words ?? { did: record.action, what: record.targets.join(', '), facts: [] };
}

/** In one line. */
export function auditSentence(record: Described): string {
  const { did, what, facts } = auditWords(record);
  const sentence = [did, what].filter(Boolean).join(' ');
  return facts.length === 0 ? sentence : `${sentence}: ${facts.join(', ')}`;
}

const isKnown = (action: string): action is Action => Object.hasOwn(WORDS, action);

type Wording = (record: Described) => AuditWords;

const WORDS: Readonly<Record<Action, Wording>> = {
  enqueue: record => words('enqueued', runs(record), [of(record)]),
  'groups.continue': record => words('continued the group of', runs(record), []),
  'groups.retry': record => words('retried', membersOf(record, 'dead '), []),
  'groups.cancel': record => words('cancelled', membersOf(record), [text(record.details['reason'])]),
  emit: record => words('emitted the event', record.targets.join(), [text(record.details['key'])]),
  complete: record => words('completed', runs(record), [of(record), text(record.details['note'])]),
  fail: record =>
    words('made', `${runs(record)} fail`, [
      of(record),
      text(record.details['reason']),
      record.details['retry'] === false ? 'without a retry' : '',
    ]),
  extend: record =>
    words('prolonged the lease of', runs(record), [of(record), text(record.details['lease'])]),
  'runs.retry': record =>
    words('retried', runs(record), [
      of(record),
      filter(record.details),
      isRate(record.details['rate']) ? `at most ${rateWords(record.details['rate'])}` : '',
    ]),
  'runs.edit': record =>
    words(
      record.details['retried'] === true ? 'retried, with another payload,' : 'gave another payload to',
      runs(record),
      [of(record)],
    ),
  'runs.cancel': record =>
    words(record.details['isAsked'] === true ? 'asked to stop' : 'cancelled', runs(record), [
      of(record),
      filter(record.details),
      text(record.details['reason']),
    ]),
  'schedules.pause': record =>
    words('paused', named(record, 'definition'), [until(record.details), text(record.details['note'])]),
  'schedules.resume': record =>
    words('resumed', named(record, 'definition'), [
      text(record.details['pause']) === '' ? '' : `paused together (${text(record.details['pause'])})`,
      number(record.details['skipped']) > 0
        ? `${counted(number(record.details['skipped']), 'occurrence')} skipped in the pause`
        : '',
    ]),
  'schedules.skip': record => words('skipped', occurrence(record), exception(record)),
  'schedules.move': record =>
    words('moved', `${occurrence(record)} to ${text(record.details['to'])}`, exception(record)),
  'schedules.restore': record =>
    words('restored', occurrence(record), [
      text(record.details['to']) === '' ? 'it was skipped' : `it was moved to ${text(record.details['to'])}`,
    ]),
  'schedules.backfill': record =>
    words('backfilled', named({ ...record, count: 1 }, 'definition'), [
      counted(record.count, 'run'),
      `${text(record.details['from'])} to ${text(record.details['to'])}`,
    ]),
  'schedules.upsert': record => {
    const { change, version, made, edited } = record.details;
    const what = named(record, 'schedule');
    // Of many at once it is only known how many were made, and how many edited.
    if (change === undefined)
      return words('wrote', what, [`${number(made)} made`, `${number(edited)} edited`]);
    const did = text(change) === 'made' ? 'made' : 'edited';
    return words(did, `${what} (version ${number(version)})`, changes(record.details));
  },
  'schedules.remove': record => words('removed', named(record, 'schedule'), []),
  'schedules.resetCursors': record => words('set back the cursor of', named(record, 'definition'), []),
  'queues.pause': record =>
    words('paused', named(record, 'queue'), [until(record.details), text(record.details['note'])]),
  'queues.resume': record =>
    words('resumed', named(record, 'queue'), [
      waiting(number(record.details['waiting'])),
      isRate(record.details['rate']) ? `at most ${rateWords(record.details['rate'])}` : '',
    ]),
  freeze: ({ details }) =>
    words(details['wasUntil'] === undefined ? 'froze' : 'changed the freeze of', 'all hosts', [
      until(details),
      ramp(details),
      text(details['note']),
    ]),
  thaw: ({ details }) => words('thawed', 'all hosts', [ramp(details), text(details['note'])]),
  'deploys.mark': record =>
    words('marked', named(record, 'deploy'), [
      `deployed ${text(record.details['at'])}`,
      text(record.details['note']),
    ]),
  forgetHost: record => words('forgot', named(record, 'host'), []),
  'queues.set': record =>
    words('set limits of', named(record, 'queue'), [...changes(record.details), until(record.details)]),
  'queues.reset': record => words('reset', `${named(record, 'queue')} to its code`, changes(record.details)),
  'queues.remove': record => words('removed the limits of', named(record, 'queue'), changes(record.details)),
  'calendars.set': record =>
    words(text(record.details['change']) || 'edited', named(record, 'calendar'), [
      `${counted(number(record.details['added_count']), 'date')} added`,
      `${counted(number(record.details['removed_count']), 'date')} removed`,
      `${counted(number(record.details['occurrences']), 'occurrence')} of ${counted(number(record.details['definitions']), 'definition')} changed in a year`,
    ]),
  'calendars.remove': record => words('removed', named(record, 'calendar'), []),
  'keys.set': record => words('set the share of', named(record, 'key'), changes(record.details)),
  'keys.reset': record => words('reset the share of', named(record, 'key'), changes(record.details)),
  'keys.open': record => words('opened', named(record, 'key'), []),
  'alerts.mute': record =>
    words('muted the alerts of', record.targets.join(', '), [
      until(record.details),
      text(record.details['note']),
    ]),
  'alerts.unmute': record => words('ended the mute of', record.targets.join(', '), []),
  'alerts.test': record => words('sent a test message to', named(record, 'channel'), []),
  prune: ({ details }) =>
    words('pruned', 'the history', [
      ...pruned(details),
      details['isStopped'] === true ? 'stopped before its end' : '',
    ]),
  adopt: () => words('adopted', 'this database', []),
  migrate: record => words('migrated', 'the schema', record.targets),
};

const words = (did: string, what: string, facts: readonly string[]): AuditWords => ({
  did,
  what,
  facts: facts.filter(fact => fact !== ''),
});

function runs({ targets, count }: Described): string {
  return count === 1 ? `run ${targets[0] ?? ''}`.trimEnd() : counted(count, 'run');
}

function membersOf({ targets, details }: Described, which = ''): string {
  return `${counted(number(details['runs']), `${which}run`)} of group ${targets[0] ?? ''}`;
}

function occurrence({ targets, details }: Described): string {
  return `the occurrence ${text(details['occurrence'])} of ${targets[0] ?? 'a definition'}`;
}

const exception = ({ details }: Described) => [
  text(details['note']),
  text(details['was']) === '' ? '' : `before, it was ${text(details['was'])}`,
];

function named({ targets, count }: Described, kind: string): string {
  return count === 1 ? `the ${kind} ${targets[0] ?? ''}`.trimEnd() : counted(count, kind);
}

function of({ details }: Described): string {
  const job = text(details['job']);
  return job === '' ? '' : `of ${job}`;
}

const FILTERS = ['status', ...FILTER_FIELDS.filter(field => field !== 'job')] as const;

/** Which runs were meant: `status dead, queue mails`. The job is said apart. */
function filter(details: Details): string {
  return FILTERS.flatMap(name => {
    const value = details[name];
    if (value === null || value === undefined) return [];
    return [
      `${name} ${Array.isArray(value) ? value.map(plain).join(name === 'tag' ? ' and ' : ' or ') : plain(value)}`,
    ];
  }).join(', ');
}

/** `cron 0 3 * * * → 0 4 * * *`. */
function changes(details: Details): string[] {
  const given = details['changes'];
  if (typeof given !== 'object' || given === null) return [];
  return Object.entries(given).map(([name, change]: [string, unknown]) => {
    const label = name.replace(/_ms$/, '').replaceAll('_', ' ');
    if (typeof change !== 'object' || change === null) return `${label} ${plain(change)}`;
    const { from, to } = change as { readonly from?: unknown; readonly to?: unknown };
    return `${label} ${valueOf(name, from)} → ${valueOf(name, to)}`;
  });
}

function valueOf(name: string, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'number' && name.endsWith('_ms')) return formatDuration(value);
  if (name === 'rate' && isRate(value)) return `${value.count} per ${formatDuration(value.perMs)}`;
  if (name === 'fair' && isFair(value)) return fairWords(value);
  return plain(value);
}

function isRate(value: unknown): value is { readonly count: number; readonly perMs: number } {
  if (typeof value !== 'object' || value === null) return false;
  const { count, perMs } = value as { readonly count?: unknown; readonly perMs?: unknown };
  return typeof count === 'number' && typeof perMs === 'number';
}

const isFair = (value: unknown): value is FairScope =>
  typeof value === 'object' && value !== null && 'path' in value && 'limit' in value && 'rate' in value;

/** Counted up to the cap. */
function waiting(count: number): string {
  if (count > MAX_COUNTED) return `more than ${counted(MAX_COUNTED, 'run')} waited`;
  return count === 0 ? '' : `${counted(count, 'run')} waited`;
}

const PRUNED: readonly (readonly [string, string])[] = [
  ['deletedRuns', 'run'],
  ['deletedKeys', 'key'],
  ['deletedEffects', 'effect'],
  ['deletedEvents', 'event'],
  ['deletedAudit', 'row'],
];

function pruned(details: Details): string[] {
  const { droppedPartitions } = details;
  const dropped = Array.isArray(droppedPartitions) ? droppedPartitions.length : 0;
  return [
    dropped > 0 ? `${counted(dropped, 'partition')} dropped` : '',
    ...PRUNED.map(([name, what]) => {
      const count = number(details[name]);
      const where = name === 'deletedAudit' ? ' of the audit' : '';
      return count > 0 ? `${counted(count, what)}${where} deleted` : '';
    }),
    number(details['madePartitions']) > 0
      ? `${counted(number(details['madePartitions']), 'partition')} created`
      : '',
  ];
}

function counted(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}

const ramp = ({ rampMs }: Details): string =>
  number(rampMs) > 0 ? `ramp ${formatDuration(number(rampMs))}` : '';

const until = ({ until: end }: Details): string => (end === undefined ? '' : `until ${text(end)}`);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
