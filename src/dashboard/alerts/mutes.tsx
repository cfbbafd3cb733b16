// Mutes: the list, the form that makes one, and the buttons that make and end one.
import type { AlertMute } from '../../answers/alerts.js';
import { formatSpan } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { includesRole } from '../../model/operator.js';
import { readEndTime } from '../../model/planning/end-time.js';
import { ActionForm, Hidden, Sheet, Suggestions, Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import type { View } from '../view.js';
import { AlertTable } from './subject.js';

/** What was entered and refused, and why. */
export interface RefusedMute {
  readonly entered: { readonly name: string; readonly until: string; readonly note: string };
  readonly message: string;
}

/** What the button beside an alert mutes for. */
const AT_ONCE = '1h';
const SPANS = ['1h', '4h', '1d', '3d', '7d'] as const;
const MAX_MS = 366 * 86_400_000;

/**
 * A span from now, or an instant; as on the command line, +2h is in two hours.
 * @throws TockError TOCK_BAD_TIME
 */
export function readUntil(text: string, now: Date): Date {
  let end: Date | null = null;
  try {
    end = readEndTime(text.replace(/^\+/, ''), now.getTime());
  } catch (error) {
    if (!(error instanceof TockError) || error.code !== 'TOCK_BAD_DURATION') throw error;
  }
  if (end !== null && end.getTime() - now.getTime() <= MAX_MS) return end;
  throw new TockError(
    'TOCK_BAD_TIME',
    `until ${quote(text)} is neither a span such as 4h or 2d nor a time such as 2026-03-09T08:00:00Z, within a year`,
  );
}

/** One press, one hour: for who is being paged at this moment. */
export function MuteButton({ view, name }: { readonly view: View; readonly name: string }) {
  if (!includesRole(view.user.role, 'operate')) return null;
  return (
    <form method="post" action={view.link('/alerts/mute')} class="action">
      <Hidden fields={{ name, until: AT_ONCE }} />
      <button aria-label={`Mute for ${AT_ONCE}: ${name}`}>Mute for {AT_ONCE}</button>
    </form>
  );
}

export function Mutes({ view, mutes }: { readonly view: View; readonly mutes: readonly AlertMute[] }) {
  if (mutes.length === 0) return null;
  return (
    <>
      <h2>
        Muted <small>evaluated, but nobody is notified</small>
      </h2>
      <AlertTable columns={['Name', 'Until', 'Why', 'By']} acts>
        {mutes.map(({ name, until, note, by, at }) => (
          <tr>
            <td class="head">
              <b>{plainLine(name, 200)}</b>
            </td>
            <td data-label="Until">
              <Time view={view} at={until} />
              <span class="sub">
                <Time view={view} at={until} relative />
              </span>
            </td>
            <td data-label="Why">
              {note === null ? <span class="faint">not said</span> : plainLine(note, 500)}
            </td>
            <td data-label="By">
              {plainLine(by, 100)}
              <span class="sub">
                <Time view={view} at={at} relative />
              </span>
            </td>
            <td class="acts" data-label="">
              <ActionForm
                view={view}
                action="/alerts/unmute"
                label="End it …"
                fields={{ name }}
                confirm={{
                  verb: `End the mute of ${name}`,
                  keep: 'Keep it muted',
                  text: `It would hold for ${formatSpan(until.getTime() - view.now.getTime())} more. What is still down is sent with the next tick.`,
                }}
                needs="operate"
              />
            </td>
          </tr>
        ))}
      </AlertTable>
    </>
  );
}

/** @param names suggestions: rules, and what is down */
export function MuteForm({
  view,
  names,
  refused,
}: {
  readonly view: View;
  readonly names: readonly string[];
  readonly refused: RefusedMute | null;
}) {
  if (!includesRole(view.user.role, 'operate')) return null;
  return (
    <>
      <h2 id="mute">Mute</h2>
      <Sheet>
        {refused === null ? null : (
          <p class="refused" role="alert">
            {refused.message}
          </p>
        )}
        <form method="post" action={view.link('/alerts/mute')} class="fields">
          <label class="grow">
            <span>Name</span>
            <input
              name="name"
              required
              maxlength={500}
              list="alert-names"
              value={refused?.entered.name ?? ''}
              placeholder="a rule, schedule, job, queue or host"
              autocomplete="off"
            />
          </label>
          <Suggestions id="alert-names" values={names} />
          <label>
            <span>Until</span>
            <input
              name="until"
              required
              list="mute-spans"
              value={refused?.entered.until ?? ''}
              placeholder="4h, 2d, 2026-03-09T08:00Z"
              autocomplete="off"
            />
          </label>
          <Suggestions id="mute-spans" values={SPANS} />
          <label class="grow">
            <span>Why</span>
            <input
              name="note"
              maxlength={500}
              value={refused?.entered.note ?? ''}
              placeholder="why it is muted"
              autocomplete="off"
            />
          </label>
          <button>Mute it</button>
        </form>
      </Sheet>
    </>
  );
}
