// What an outage has left out, in a line with the way to its backfill.
import type { MissedSummary, Outage } from '../../answers/now/missed.js';
import { includesRole } from '../../model/operator.js';
import { numberText, shortTime } from '../layout/text.js';
import type { View } from '../view.js';

export const BACKFILL_PATH = '/backfill';

export function MissedLine({ view, missed }: { readonly view: View; readonly missed: MissedSummary | null }) {
  if (missed === null) return null;
  return (
    <div class="missed-now">
      <span>{missedSentence(view, missed)}</span>{' '}
      <a class="button" href={view.link(BACKFILL_PATH)}>
        {includesRole(view.user.role, 'operate') ? 'Backfill …' : 'Show them'}
      </a>
    </div>
  );
}

/** Of more outages only the count is said. */
const NAMED = 2;

function missedSentence(
  view: View,
  { occurrences, definitions, hasMore, isCut, outages }: MissedSummary,
): string {
  const counted = (count: number, isMore: boolean, what: string) =>
    `${numberText(count)}${isMore ? '+' : ''} ${what}${count === 1 ? '' : 's'}`;
  const of = `of ${counted(definitions, hasMore, 'schedule')}`;
  const what = `${counted(occurrences, isCut, 'occurrence')} ${of} ${occurrences === 1 ? 'was' : 'were'} left out`;
  const causes = outages.map(each => causeWords(view, each));
  if (causes.length === 1) return `While ${causes[0]}, ${what}.`;
  const more = causes.length - NAMED;
  const named = more > 1 ? [...causes.slice(0, NAMED), `${numberText(more)} more outages`] : causes;
  return `${what}: ${named.join('; ')}.`;
}

function causeWords(view: View, { cause, from, until }: Outage): string {
  if (cause === 'pause' || from === null || until === null) return 'schedules were paused';
  const span = `from ${minute(view, from)} to ${minute(view, until)}`;
  return cause === 'silence' ? `nothing ticked, ${span}` : `everything was frozen, ${span}`;
}

/** `02:10` today, `21 Nov 02:10` otherwise. */
const minute = ({ zone, now }: View, at: Date) => shortTime(at, zone, now).replace(/:\d\d$/, '');
