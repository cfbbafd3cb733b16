// A filter of runs as a phrase: `dead runs of job "mail"`.
import type { RunStatus } from '../../model/run/states.js';
import { numberText } from '../layout/text.js';
import type { FilterText } from './filter.js';

/** The words that the pages have for states. */
export const STATE_WORDS: Readonly<Record<RunStatus, string>> = {
  queued: 'waiting',
  running: 'running',
  failed: 'retrying',
  succeeded: 'succeeded',
  dead: 'dead',
  cancelled: 'cancelled',
  skipped: 'skipped',
};

function statesText(statuses: readonly string[]): string {
  const words = statuses.map(status => STATE_WORDS[status as RunStatus] ?? status);
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
}

/** What each condition says after the noun. */
const CLAUSES: readonly (readonly [keyof FilterText, (value: string, text: FilterText) => string])[] = [
  ['job', value => `of job “${value}”`],
  ['definition', value => `of schedule “${value}”`],
  ['queue', value => `in queue “${value}”`],
  ['key', value => `with the key “${value}”`],
  ['error', value => `whose error has “${value}”`],
  [
    'message',
    (value, { name, code }) =>
      `whose error is “${name || 'Error'}${code === '' ? '' : ` ${code}`}: ${value}”`,
  ],
  ['payload', value => `whose payload has ${value}`],
  ['from', value => (value === 'all' ? '' : `since ${timeWords(value)}`)],
  ['to', value => `before ${timeWords(value)}`],
];

const timeWords = (value: string) => (/^[\d.]+(?:ms|[smhdw])/.test(value) ? `${value} ago` : value);

/** `runs of job “mail”`, without the number. */
export function filterWords(text: FilterText, count = 2): string {
  const states = statesText(text.status);
  const clauses = CLAUSES.map(([name, words]) => {
    const value = text[name];
    return typeof value === 'string' && value !== '' ? words(value, text) : '';
  });
  return [states, count === 1 ? 'run' : 'runs', ...clauses].filter(word => word !== '').join(' ');
}

/** `412 dead runs of job “mail”`; above the cap `10 000+`. */
export function countedWords(count: number, cap: number, text: FilterText): string {
  return `${count === 0 ? 'no' : numberText(count, cap)} ${filterWords(text, count)}`;
}
