// Schedules that one act has paused together: a notice with a button, and the page that asks which to resume.
import {
  type NamedPause,
  readPausedAlone,
  readSharedPauses,
  type SharedPause,
} from '../../../answers/schedules/lists.js';
import { includesRole } from '../../../model/operator.js';
import { Page } from '../../layout/page.js';
import { ActionForm, Empty, Sheet } from '../../layout/parts.js';
import { relativeText } from '../../layout/text.js';
import type { View } from '../../view.js';
import { Warning } from '../operate-parts.js';
import { NAMED, Named, schedules } from './bulk-question.js';

/** One notice for each act. */
export function PausedTogether({
  view,
  pauses,
}: {
  readonly view: View;
  readonly pauses: readonly SharedPause[];
}) {
  return (
    <>
      {pauses.map(pause => (
        <Warning
          title={`${schedules(pause.count)} ${pause.count === 1 ? 'is' : 'are'} paused together`}
          {...(includesRole(view.user.role, 'operate')
            ? { help: <ResumeTogether view={view} pause={pause} /> }
            : {})}
        >
          {`Paused ${relativeText(pause.pausedAt, view.now)}${pause.operator === null ? '' : ` by ${pause.operator}`}${pause.note === null ? '.' : `: ${pause.note}`}`}
        </Warning>
      ))}
    </>
  );
}

function ResumeTogether({ view, pause }: { readonly view: View; readonly pause: SharedPause }) {
  const { id, count, pausedAt, note } = pause;
  const what = count === 1 ? 'it' : `these ${count}`;
  return (
    <ActionForm
      view={view}
      action="/schedules"
      label={`Resume ${what} …`}
      confirm={{
        verb: `Resume ${schedules(count)}`,
        keep: count === 1 ? 'Keep it paused' : 'Keep them paused',
        text: `Paused ${relativeText(pausedAt, view.now)}${note === null ? '' : `: ${note}`}. They make runs again from now on; occurrences due in the pause are not caught up. Schedules that were paused on their own stay paused.`,
      }}
      fields={{ act: 'resume', pause: id, confirmed: 'yes', back: view.link('/schedules') }}
      needs="operate"
    />
  );
}

interface WhichPauseProps {
  readonly view: View;
  readonly pauses: readonly SharedPause[];
  readonly alone: readonly NamedPause[];
}

/** In place of "resume all": the acts of which pauses hold, and what is paused on its own. */
export function WhichPause({ view, pauses, alone }: WhichPauseProps) {
  return (
    <Page
      view={view}
      title="Resume which schedules?"
      current="schedules"
      lead="Schedules that were paused together are resumed together. One that was paused on its own, by somebody or by itself after dead runs, is resumed on its own page."
    >
      {pauses.length === 0 ? (
        <Empty title="No schedules are paused together" />
      ) : (
        <PausedTogether view={view} pauses={pauses} />
      )}
      {alone.length === 0 ? null : (
        <>
          <h2>Paused on their own</h2>
          <Sheet>
            <Named view={view} named={alone.slice(0, NAMED)} count={Math.min(alone.length, NAMED)} />
            {alone.length > NAMED ? (
              <p>
                <a href={view.link('/schedules', { state: 'paused' })}>All that are paused</a>
              </p>
            ) : null}
          </Sheet>
        </>
      )}
    </Page>
  );
}

export async function readPauses({ reads }: View): Promise<Omit<WhichPauseProps, 'view'>> {
  const [pauses, alone] = await Promise.all([readSharedPauses(reads), readPausedAlone(reads, NAMED + 1)]);
  return { pauses, alone };
}
