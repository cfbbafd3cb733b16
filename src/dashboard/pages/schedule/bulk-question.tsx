// The page that asks before an action on many schedules: which they are, and what happens then.
import type { NamedPause } from '../../../answers/schedules/lists.js';
import { Page } from '../../layout/page.js';
import { Empty, type Fields, Hidden, Sheet } from '../../layout/parts.js';
import { UntilInput } from '../../layout/pause-fields.js';
import { numberText, relativeText } from '../../layout/text.js';
import type { View } from '../../view.js';

/** How many of them are named. */
export const NAMED = 20;

export const schedules = (count: number) => `${numberText(count)} ${count === 1 ? 'schedule' : 'schedules'}`;

export interface BulkQuestionProps {
  readonly view: View;
  readonly back: string;
  readonly act: 'pause' | 'resume' | 'run';
  readonly fields: Fields;
  /** What the title and its button say. */
  readonly verb: string;
  readonly keep: string;
  readonly effect: string;
  readonly count: number;
  /** The first of them, by name. */
  readonly named: readonly NamedPause[];
  /** For a pause: the reason and the end that were given. */
  readonly note?: string | null;
  readonly until?: string | null;
}

export function BulkQuestion(props: BulkQuestionProps) {
  const { view, back, act, fields, verb, keep, effect, count, named, note, until } = props;
  if (count === 0)
    return (
      <Page view={view} title={`Nothing to ${act}`} current="schedules">
        <Empty title={NOTHING[act]}>
          <p>
            <a href={back}>Back to the schedules</a>
          </p>
        </Empty>
      </Page>
    );
  return (
    <Page view={view} title={`${verb}?`} current="schedules" lead={effect}>
      <Sheet>
        <Named view={view} named={named} count={count} />
        <form method="post" action={view.link('/schedules')} class="confirm">
          <Hidden fields={{ ...fields, confirmed: 'yes', back }} />
          {act === 'pause' ? (
            <>
              <label class="entry">
                Until <UntilInput value={until ?? ''} />
              </label>
              <label class="entry">
                Why{' '}
                <input
                  type="text"
                  name="note"
                  value={note ?? ''}
                  maxlength={500}
                  placeholder="shown wherever the pause is"
                />
              </label>
            </>
          ) : null}
          <div class="buttons question">
            <button class="main" name="act" value={act}>
              {verb}
            </button>
            <a class="button" href={back}>
              {keep}
            </a>
          </div>
        </form>
      </Sheet>
    </Page>
  );
}

const NOTHING = {
  pause: 'None of these makes runs by a schedule, or all are paused already',
  resume: 'None of these is paused',
  run: 'None of these can be run: all are paused',
} as const;

/** Names, with the reason and age of a pause. */
export function Named({
  view,
  named,
  count,
}: {
  readonly view: View;
  readonly named: readonly NamedPause[];
  readonly count: number;
}) {
  return (
    <ul class={named.some(({ pausedAt }) => pausedAt !== null) ? 'names told' : 'names'}>
      {named.map(({ name, pausedAt, note }) => (
        <li>
          <a href={view.link(`/schedules/${encodeURIComponent(name)}`)}>{name}</a>
          {pausedAt === null ? null : (
            <span class="muted">
              {' '}
              paused {relativeText(pausedAt, view.now)}
              {note === null ? '' : `: ${note}`}
            </span>
          )}
        </li>
      ))}
      {count > named.length ? <li class="muted">and {numberText(count - named.length)} more</li> : null}
    </ul>
  );
}
