// A filter of runs as a phrase: `dead runs of job "mail"`.
import type { FilterText } from '../../model/run/match/filter-text.js';
import { filterClauses } from '../../model/run/match/filter-words.js';
import type { RunStatus } from '../../model/run/states.js';
import { numberText } from '../layout/text.js';

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

/** `runs of job “mail”`, without the number. */
export function filterWords(text: FilterText, count = 2): string {
  const clauses = filterClauses(text, { quoted: value => `“${value}”`, definition: 'schedule' });
  return [statesText(text.status), count === 1 ? 'run' : 'runs', ...clauses]
    .filter(word => word !== '')
    .join(' ');
}

/** `412 dead runs of job “mail”`; above the cap `10 000+`. */
export function countedWords(count: number, cap: number, text: FilterText): string {
  return `${count === 0 ? 'no' : numberText(count, cap)} ${filterWords(text, count)}`;
}
