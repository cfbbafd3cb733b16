// What can be done with one schedule: its buttons, and the posts that they make.

import { hasSchedule } from '../../../answers/schedules/condition.js';
import type { OpenedSchedule, ShownCalendar } from '../../../answers/schedules/read-schedule.js';
import { includesRole } from '../../../model/operator.js';
import { flash } from '../../flash.js';
import { ActionForm } from '../../layout/parts.js';
import { readPause, UntilInput } from '../../layout/pause-fields.js';
import { numberText, shortTime } from '../../layout/text.js';
import { readShown } from '../../query.js';
import { resumeQuestion } from '../../schedules/resume-question.js';
import { runNow } from '../../schedules/run-now.js';
import type { App, View } from '../../view.js';
import { backOr, type Form, textOf } from './form.js';

export interface ActionsProps {
  readonly view: View;
  readonly opened: OpenedSchedule;
  readonly shown: ShownCalendar;
}

export function Actions({ view, opened, shown }: ActionsProps) {
  const { definition, schedule } = opened;
  const { name, vanished_at: vanished, paused_at: paused, origin, version } = definition;
  const path = `/schedules/${encodeURIComponent(name)}`;
  const lost = shown.occurrences.filter(({ state }) => state === 'lost');
  const [first, last] = [lost[0], lost.at(-1)];
  const iso = (ms: number) => new Date(ms).toISOString();
  if (vanished || !includesRole(view.user.role, 'operate')) return null;
  return (
    <div class="actions right">
      {origin === 'runtime' ? (
        <>
          {includesRole(view.user.role, 'admin') ? (
            <a class="button" href={view.link(`${path}/edit`)}>
              Edit …
            </a>
          ) : null}
          <ActionForm
            view={view}
            action={`${path}/remove`}
            label="Remove …"
            confirm={{
              verb: `Remove ${name}`,
              keep: 'Keep it',
              text: 'The schedule makes no more runs, and its runs that wait for their time are withdrawn. Its history stays.',
            }}
            fields={{ version }}
            needs="admin"
          />
        </>
      ) : null}
      {schedule === null || definition.after ? null : first && last ? (
        <a
          class="button"
          href={view.link(`${path}/backfill`, { from: iso(first.at), to: iso(last.at + 1000) })}
        >
          Backfill the {numberText(lost.length)} missed …
        </a>
      ) : (
        <a class="button" href={view.link(`${path}/backfill`)}>
          Backfill …
        </a>
      )}
      {!hasSchedule(definition) ? null : paused ? (
        <ActionForm
          view={view}
          action={`${path}/resume`}
          label="Resume …"
          confirm={resumeQuestion(view, definition)}
          needs="operate"
        />
      ) : (
        <details class="menu">
          <summary class="button">Pause …</summary>
          <form method="post" action={view.link(`${path}/pause`)} class="menu-body">
            <label class="entry">
              Until <UntilInput />
            </label>
            <label class="entry">
              Why <input type="text" name="note" maxlength={500} placeholder="shown wherever the pause is" />
            </label>
            <button>Pause</button>
          </form>
        </details>
      )}
      <ActionForm view={view} action={`${path}/run`} label="Run now" main needs="operate" />
    </div>
  );
}

export function addScheduleActions(app: App): void {
  app.post('/schedules/:name/run', async c => {
    const [view, name] = [c.get('view'), c.req.param('name')];
    const id = await runNow(view, name);
    flash(c, `Run ${id} of ${name} is queued.`);
    const form = (await c.req.parseBody({ all: true })) as Form;
    return c.redirect(backOr(form, view.link(`/runs/${id}`)), 303);
  });
  app.post('/schedules/:name/pause', async c => {
    const [view, name] = [c.get('view'), c.req.param('name')];
    const form = (await c.req.parseBody({ all: true })) as Form;
    const { pausedUntil } = await view.tock.schedules.pause(name, readPause(form, view));
    flash(
      c,
      `${name} is paused${pausedUntil === null ? '' : ` until ${shortTime(pausedUntil, view.zone, view.now)}`}.`,
    );
    return c.redirect(backOr(form, addressOf(view, name)), 303);
  });
  app.post('/schedules/:name/resume', async c => {
    const [view, name] = [c.get('view'), c.req.param('name')];
    const form = (await c.req.parseBody({ all: true })) as Form;
    const { skipped } = await view.tock.schedules.resume(name);
    const left =
      skipped === null
        ? ''
        : ` ${numberText(skipped.count)} ${skipped.count === 1 ? 'occurrence' : 'occurrences'} of the pause did not run; a backfill can create their runs.`;
    flash(c, `${name} is resumed.${left}`);
    return c.redirect(backOr(form, addressOf(view, name)), 303);
  });
  app.post('/schedules/:name/remove', async c => {
    const [view, name] = [c.get('view'), c.req.param('name')];
    const form = (await c.req.parseBody({ all: true })) as Form;
    await view.tock.schedules.remove(name, { ifVersion: versionIn(form) });
    flash(c, `${name} is removed.`);
    return c.redirect(view.link('/schedules'), 303);
  });
}

export function addressOf(view: View, name: string): string {
  return view.link(`/schedules/${encodeURIComponent(name)}`);
}

/** The version that the reader saw. @throws TockError TOCK_BAD_OPTION */
export const versionIn = (form: Form): number =>
  readShown(textOf(form, 'version'), 'version of the schedule');
