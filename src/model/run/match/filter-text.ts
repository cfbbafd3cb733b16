// A filter of runs as text, the same in flags, in addresses and in forms: read into a RunMatch, or into what
// is wrong with it.
import { TockError } from '../../errors.js';
import { RUN_STATUSES, type RunStatus } from '../states.js';
import { tagsIn } from '../tags.js';
import { type RunMatch, readRunMatch } from './run-match.js';

/** Empty: not given. */
export interface FilterText {
  readonly status: readonly string[];
  readonly job: string;
  readonly definition: string;
  readonly queue: string;
  readonly group: string;
  readonly key: string;
  /** Separated by blanks or commas: all of them. */
  readonly tag: string;
  readonly deploy: string;
  readonly error: string;
  /** With `name` and `code`: errors of one group. */
  readonly message: string;
  readonly name: string;
  readonly code: string;
  readonly payload: string;
  readonly from: string;
  readonly to: string;
}

/** The fields of a {@link FilterText} other than the states, in the order in which they are said. */
export const FILTER_FIELDS = [
  'job',
  'definition',
  'queue',
  'group',
  'key',
  'tag',
  'deploy',
  'error',
  'message',
  'name',
  'code',
  'payload',
  'from',
  'to',
] as const satisfies readonly (keyof FilterText)[];

/** Given several times, all of them hold; of the others the first counts. */
export const ADD_UP: readonly string[] = ['tag', 'payload'];

/** A field, and what is wrong with it. */
export interface FilterFault {
  readonly field: keyof FilterText;
  readonly message: string;
}

/**
 * Unknown states are kept, so that they are refused, and not taken for no filter.
 * @param get the values of a name: of flags, an address, or a form
 */
export function readFilterText(get: (name: string) => readonly string[]): FilterText {
  const states = get('status')
    .flatMap(value => value.split(','))
    .map(value => value.trim())
    .filter(value => value !== '');
  const known: readonly string[] = RUN_STATUSES.filter(each => states.includes(each));
  const status = [...known, ...states.filter(each => !known.includes(each))];
  const one = (name: string) => (ADD_UP.includes(name) ? get(name).join(' ') : (get(name)[0] ?? '')).trim();
  const texts = Object.fromEntries(FILTER_FIELDS.map(name => [name, one(name)]));
  return { ...(texts as Omit<FilterText, 'status'>), status };
}

/** Nothing is checked, and times stay text. @param zone of days and local times */
export function matchOf(text: FilterText, zone: string): RunMatch {
  const { status, name, code, message } = text;
  const hasGroup = name !== '' || message !== '';
  return {
    ...(status.length === 0 ? {} : { status: status as readonly RunStatus[] }),
    ...given('job', text.job),
    ...given('definition', text.definition),
    ...given('queue', text.queue),
    ...given('group', text.group),
    ...given('key', text.key),
    ...(text.tag === '' ? {} : { tag: tagsIn(text.tag) }),
    ...given('deploy', text.deploy),
    ...given('error', text.error),
    ...given('payload', text.payload),
    ...(hasGroup ? { errorGroup: { name: name || 'Error', code: code || null, message } } : {}),
    ...given('from', text.from),
    ...given('to', text.to),
    ...(text.from === '' && text.to === '' ? {} : { zone }),
  };
}

const given = (name: keyof RunMatch, value: string): Partial<RunMatch> =>
  value === '' ? {} : { [name]: value };

/** What is wrong, field by field; then what is wrong with them together. Empty: nothing. */
export function faultsOf(text: FilterText, zone: string, now: Date): readonly FilterFault[] {
  const faults = (['status', ...FILTER_FIELDS] as const).flatMap(field =>
    faultIn(field, only(text, field), zone, now),
  );
  return faults.length > 0 ? faults : faultIn('from', text, zone, now);
}

const only = (text: FilterText, field: keyof FilterText): FilterText => ({
  ...readFilterText(() => []),
  [field]: text[field],
});

function faultIn(field: keyof FilterText, text: FilterText, zone: string, now: Date): FilterFault[] {
  try {
    readRunMatch(matchOf(text, zone), now);
    return [];
  } catch (error) {
    if (!(error instanceof TockError)) throw error;
    return [{ field, message: error.message }];
  }
}

/** Whether it lets all runs through. */
export function isEmpty({ status, ...others }: FilterText): boolean {
  return status.length === 0 && Object.values(others).every(value => value === '');
}
