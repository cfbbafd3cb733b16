// What can be done with the one occurrence that is being explained: skip it, move it, or take that back.
import type { OpenedSchedule } from '../../../answers/schedules/read-schedule.js';
import { findZoneOrUtc } from '../../../answers/schedules/zones.js';
import { TockError } from '../../../model/errors.js';
import { includesRole } from '../../../model/operator.js';
import type { ExceptionRecord } from '../../../model/planning/exception-record.js';
import { type Exception, occurs } from '../../../model/planning/exceptions.js';
import { flash } from '../../flash.js';
import { Hidden } from '../../layout/parts.js';
import { zoneTime } from '../../schedules/times.js';
import type { App, View } from '../../view.js';
import { addressOf } from './actions.js';
import { type Form, textOf } from './form.js';

export interface ExceptionFormsProps {
  readonly view: View;
  readonly opened: OpenedSchedule;
  /** The occurrence, in epoch milliseconds; null: none is chosen. */
  readonly at: number | null;
}

/** Nothing for who may not do it, for what is over, and for what is no occurrence. */
export function ExceptionForms({ view, opened, at }: ExceptionFormsProps) {
  const { definition, table, exceptions, zone } = opened;
  if (at === null || table === null || definition.vanished_at || !includesRole(view.user.role, 'operate'))
    return null;
  const considered = Math.max(view.now.getTime(), definition.cursor.getTime());
  const exception = exceptions.find(each => each.at === at);
  if (
    exception === undefined ? !occurs(table.compiled, at) || at <= considered : exception.dueAt <= considered
  )
    return null;
  const path = `/schedules/${encodeURIComponent(definition.name)}`;
  const fields = { at: new Date(at).toISOString() };
  return (
    <div class="actions exception">
      {exception?.kind === 'skip' ? null : (
        <details class="menu">
          <summary class="button">Skip it …</summary>
          <form method="post" action={view.link(`${path}/skip`)} class="menu-body">
            <Hidden fields={fields} />
            <Why />
            <button>Skip {zoneTime(zone, at, view.now.getTime())}</button>
          </form>
        </details>
      )}
      <details class="menu">
        <summary class="button">{exception?.kind === 'move' ? 'Move it again …' : 'Move it …'}</summary>
        <form method="post" action={view.link(`${path}/move`)} class="menu-body">
          <Hidden fields={fields} />
          <label class="entry">
            To, in {zone.name} <input type="datetime-local" name="to" step="1" required />
          </label>
          <Why />
          <button>Move {zoneTime(zone, at, view.now.getTime())}</button>
        </form>
      </details>
      {exception !== undefined && at > considered ? (
        <UndoForm view={view} name={definition.name} exception={exception} />
      ) : null}
    </div>
  );
}

function Why() {
  return (
    <label class="entry">
      Why <input type="text" name="note" maxlength={500} placeholder="shown with the occurrence" />
    </label>
  );
}

/** A button that takes a skip or a move back. */
export function UndoForm({
  view,
  name,
  exception: { at, kind },
}: {
  readonly view: View;
  readonly name: string;
  readonly exception: Exception;
}) {
  if (!includesRole(view.user.role, 'operate')) return null;
  return (
    <form method="post" action={view.link(`/schedules/${encodeURIComponent(name)}/restore`)} class="action">
      <Hidden fields={{ at: new Date(at).toISOString() }} />
      <button>{kind === 'skip' ? 'Do not skip it' : 'Do not move it'}</button>
    </form>
  );
}

export function addExceptionActions(app: App): void {
  app.post('/schedules/:name/skip', async c => {
    const [view, name] = [c.get('view'), c.req.param('name')];
    const form = (await c.req.parseBody({ all: true })) as Form;
    const skipped = await view.tock.schedules.skip(name, instantIn(form), noteIn(form));
    flash(c, `${occurrenceText(view, skipped)} is skipped.${ifPaused(skipped.isPaused)}`);
    return c.redirect(addressOf(view, name), 303);
  });
  app.post('/schedules/:name/move', async c => {
    const [view, name] = [c.get('view'), c.req.param('name')];
    const form = (await c.req.parseBody({ all: true })) as Form;
    const to = textOf(form, 'to');
    if (to === null) throw new TockError('TOCK_BAD_OPTION', 'write the time to which it is to be moved');
    const moved = await view.tock.schedules.move(name, instantIn(form), to, noteIn(form));
    const target = zoneTime(findZoneOrUtc(moved.timezone), moved.movedTo?.getTime() ?? 0, view.now.getTime());
    flash(c, `${occurrenceText(view, moved)} is moved to ${target}.${ifPaused(moved.isPaused)}`);
    return c.redirect(addressOf(view, name), 303);
  });
  app.post('/schedules/:name/restore', async c => {
    const [view, name] = [c.get('view'), c.req.param('name')];
    const form = (await c.req.parseBody({ all: true })) as Form;
    const restored = await view.tock.schedules.restore(name, instantIn(form));
    flash(c, `${occurrenceText(view, restored)} is as scheduled again.`);
    return c.redirect(addressOf(view, name), 303);
  });
}

function occurrenceText(view: View, { definition, occurrence, timezone }: ExceptionRecord): string {
  return `The occurrence ${zoneTime(findZoneOrUtc(timezone), occurrence.getTime(), view.now.getTime())} of ${definition}`;
}

const ifPaused = (isPaused: boolean) =>
  isPaused ? ' The schedule is paused, and makes no runs until it is resumed.' : '';

function noteIn(form: Form): { note?: string } {
  const note = textOf(form, 'note');
  return note === null ? {} : { note };
}

/** The occurrence that the reader saw. @throws TockError TOCK_BAD_OPTION */
function instantIn(form: Form): string {
  const text = textOf(form, 'at');
  if (text !== null) return text;
  throw new TockError('TOCK_BAD_OPTION', 'the form names no occurrence; open the page of the schedule again');
}
