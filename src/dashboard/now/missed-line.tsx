// What was missed in an outage, in a line with the way to its backfill.
import type { MissedTogether } from '../../answers/now/missed.js';
import { includesRole } from '../../model/operator.js';
import { numberText, shortTime } from '../layout/text.js';
import type { View } from '../view.js';

export const BACKFILL_PATH = '/backfill';

/** @param missed by cause */
export function MissedLine({
  view,
  missed,
}: {
  readonly view: View;
  readonly missed: readonly MissedTogether[];
}) {
  if (missed.length === 0) return null;
  const total = missed.reduce((sum, { occurrences }) => sum + occurrences, 0);
  const mayAct = includesRole(view.user.role, 'operate');
  return (
    <div class="missed-now">
      <span>{missedSentence(view, missed, total)}</span>{' '}
      <a class="button" href={view.link(BACKFILL_PATH)}>
        {mayAct ? `Backfill ${numberText(total)} …` : 'Show them'}
      </a>
    </div>
  );
}

/** Of more outages only the count is said. */
const NAMED = 2;

function missedSentence(view: View, missed: readonly MissedTogether[], total: number): string {
  const definitions = missed[0]?.definitions ?? 0;
  const whose = `of ${numberText(definitions)} ${definitions === 1 ? 'schedule' : 'schedules'}`;
  const what = `${numberText(total)} ${total === 1 ? 'occurrence' : 'occurrences'} ${whose} ${total === 1 ? 'was' : 'were'} missed`;
  const causes = missed.map(each => causeWords(view, each));
  if (causes.length === 1) return `While ${causes[0]}, ${what}.`;
  const more = causes.length - NAMED;
  const named = more > 1 ? [...causes.slice(0, NAMED), `${numberText(more)} more outages`] : causes;
  return `${capital(what)}: ${named.join('; ')}.`;
}

function causeWords(view: View, { cause, from, until }: MissedTogether): string {
  if (cause === 'pause' || from === null || until === null) return 'schedules were paused';
  const span = `from ${minute(view, from)} to ${minute(view, until)}`;
  return cause === 'silence' ? `nothing ticked, ${span}` : `everything was frozen, ${span}`;
}

/** `02:10` today, `21 Nov 02:10` otherwise. */
const minute = ({ zone, now }: View, at: Date) => shortTime(at, zone, now).replace(/:\d\d$/, '');

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
