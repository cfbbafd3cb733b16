// The filter of runs in an address: read strictly, and written so that a link can be kept.
import { parseDuration } from '../../model/duration.js';
import { readAskedTime } from '../../model/explain/asked-time.js';
import { firstInstant } from '../../model/explain/day.js';
import { placeOfCivil } from '../../model/explain/local-clock.js';
import { isSlow, type RunMatch, readRunMatch } from '../../model/run/run-match.js';
import { RUN_STATUSES, type RunStatus } from '../../model/run/states.js';
import { findZone } from '../../model/schedule/zone/zone.js';
import type { Query } from '../view.js';

/** As it stands in the address; empty: not given. */
export interface FilterText {
  readonly status: readonly string[];
  readonly job: string;
  readonly definition: string;
  readonly queue: string;
  readonly key: string;
  readonly error: string;
  /** With `name` and `code`: errors of one group. */
  readonly message: string;
  readonly name: string;
  readonly code: string;
  readonly payload: string;
  readonly from: string;
  readonly to: string;
}

export const FIELDS = [
  'job',
  'definition',
  'queue',
  'key',
  'error',
  'message',
  'name',
  'code',
  'payload',
  'from',
  'to',
] as const satisfies readonly (keyof FilterText)[];

export interface ReadFilter {
  readonly text: FilterText;
  readonly match: RunMatch;
  /** No time was given, and without one too many runs would have to be read. */
  readonly isLastDayOnly: boolean;
}

const DAY_MS = 86_400_000;
/** Instead of a time: all that there is. */
const EVERYTHING = 'all';

/** @param get the values of a name: of a query, or of a form */
export function readFilterText(get: (name: string) => readonly string[]): FilterText {
  const one = (name: string) => (get(name)[0] ?? '').trim();
  const status = get('status')
    .flatMap(value => value.split(','))
    .filter(value => value !== '');
  const texts = Object.fromEntries(FIELDS.map(name => [name, one(name)])) as Omit<FilterText, 'status'>;
  return { ...texts, status: RUN_STATUSES.filter(each => status.includes(each)).concat(unknownOf(status)) };
}

/** Kept, so that it is refused, and not taken for no filter. */
const unknownOf = (statuses: readonly string[]) =>
  statuses.filter(each => !(RUN_STATUSES as readonly string[]).includes(each)) as RunStatus[];

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME, TOCK_BAD_DURATION */
export function readFilter(text: FilterText, zone: string, now: Date): ReadFilter {
  const { status, name, code, message } = text;
  const hasGroup = name !== '' || message !== '';
  const match: RunMatch = {
    ...(status.length === 0 ? {} : { status: status as readonly RunStatus[] }),
    ...given('job', text.job),
    ...given('definition', text.definition),
    ...given('queue', text.queue),
    ...given('key', text.key),
    ...given('error', text.error),
    ...given('payload', text.payload),
    ...(hasGroup ? { errorGroup: { name: name || 'Error', code: code || null, message } } : {}),
    ...(text.from === '' || text.from === EVERYTHING ? {} : { from: readTime(text.from, zone, now) }),
    ...(text.to === '' ? {} : { to: readTime(text.to, zone, now) }),
  };
  const isLastDayOnly = text.from === '' && text.to === '' && isSlow(readRunMatch(match));
  return {
    text,
    match: isLastDayOnly ? { ...match, from: new Date(now.getTime() - DAY_MS) } : match,
    isLastDayOnly,
  };
}

const given = (name: keyof RunMatch, value: string): Partial<RunMatch> =>
  value === '' ? {} : { [name]: value };

/** `24h` is that long ago; otherwise an instant, or a local time or day in the reader's zone. */
function readTime(text: string, zoneName: string, now: Date): Date {
  if (/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(text)) return new Date(now.getTime() - parseDuration(text));
  const zone = findZone(zoneName);
  const asked = readAskedTime(text, zone, now.getTime());
  if (asked.kind === 'instant') return new Date(asked.at * 1000);
  if (asked.kind === 'day') return new Date(firstInstant(zone, asked.day * 86_400) * 1000);
  const { instants, gap } = placeOfCivil(zone, asked.civil);
  return new Date((instants[0] ?? gap?.start ?? asked.civil) * 1000);
}

/** For an address. */
export function queryOf(text: FilterText, changes: Partial<FilterText> = {}): Query {
  const { status, ...others } = { ...text, ...changes };
  return { status: status.join(','), ...others };
}

export function isEmpty({ status, ...others }: FilterText): boolean {
  return status.length === 0 && Object.values(others).every(value => value === '');
}
