// The edit of a schedule that was made at run time, guarded by its version; and the making of one.
import type { Child } from 'hono/jsx';
import { type OpenedSchedule, requireSchedule } from '../../../answers/schedules/read-schedule.js';
import { TockError } from '../../../model/errors.js';
import { includesRole } from '../../../model/operator.js';
import { flash } from '../../flash.js';
import { Page } from '../../layout/page.js';
import { Empty, Sheet } from '../../layout/parts.js';
import { fieldsOf, inputOf, NEW_FIELDS, type ScheduleFields } from '../../schedules/schedule-form.js';
import type { App, View } from '../../view.js';
import { addressOf, versionIn } from './actions.js';
import { type Form, textOf } from './form.js';
import { fieldsIn, Group, ScheduleForm } from './schedule-fields.js';

export function addEditPages(app: App): void {
  app.get('/schedules/:name/edit', async c => {
    const view = c.get('view');
    const opened = await requireSchedule(view.reads, c.req.param('name'));
    const { version } = opened.definition;
    const fields = fieldsOf(opened.definition);
    return c.html(<EditPage view={view} opened={opened} fields={fields} version={version} error={null} />);
  });
  app.post('/schedules/:name/edit', async c => {
    const view = c.get('view');
    const opened = await requireSchedule(view.reads, c.req.param('name'));
    const { name, payload } = opened.definition;
    const form = (await c.req.parseBody({ all: true })) as Form;
    const version = versionIn(form);
    const fields = fieldsIn(form, view);
    try {
      const record = await view.tock.schedules.upsert(inputOf(name, fields, payload), { ifVersion: version });
      const isSame = record.version === version;
      flash(c, isSame ? 'Nothing was changed.' : `${name} is at version ${record.version}.`);
      return c.redirect(addressOf(view, name), 303);
    } catch (error) {
      const status = statusOf(error);
      if (status === null) throw error;
      return c.html(
        <EditPage view={view} opened={opened} fields={fields} version={version} error={error as TockError} />,
        status,
      );
    }
  });
  app.get('/new-schedule', c =>
    c.html(<NewPage view={c.get('view')} name="" fields={NEW_FIELDS} error={null} />),
  );
  app.post('/new-schedule', async c => {
    const view = c.get('view');
    const form = (await c.req.parseBody({ all: true })) as Form;
    const name = textOf(form, 'name') ?? '';
    const fields = fieldsIn(form, view);
    try {
      await view.tock.schedules.upsert(inputOf(name, fields, null), { ifVersion: 0 });
      flash(c, `${name} is made.`);
      return c.redirect(addressOf(view, name), 303);
    } catch (error) {
      const status = statusOf(error);
      if (status === null) throw error;
      return c.html(<NewPage view={view} name={name} fields={fields} error={error as TockError} />, status);
    }
  });
}

/** Of an error that the writer of the form can do something about; null: it has a page of its own. */
function statusOf(error: unknown): 400 | 409 | null {
  if (!(error instanceof TockError)) return null;
  if (['TOCK_FORBIDDEN', 'TOCK_DATABASE_UNREACHABLE', 'TOCK_CLOSED'].includes(error.code)) return null;
  return ['TOCK_VERSION_CONFLICT', 'TOCK_BAD_STATE'].includes(error.code) ? 409 : 400;
}

interface EditPageProps {
  readonly view: View;
  readonly opened: OpenedSchedule;
  readonly fields: ScheduleFields;
  readonly version: number;
  readonly error: TockError | null;
}

const LEAD =
  'Takes effect now. What was due before is still run as it was; runs that wait for a later time are withdrawn; a running one is never touched.';

function EditPage({ view, opened, fields, version, error }: EditPageProps) {
  const { name, origin, vanished_at: vanished } = opened.definition;
  const title = `Edit ${name}`;
  const path = `/schedules/${encodeURIComponent(name)}/edit`;
  if (origin === 'code' && !vanished)
    return (
      <Page view={view} title={title} current="schedules">
        <Sheet>
          <Empty title="This schedule is defined in code">
            <p>
              Edit it there; the next tick with the new code registers it. It can be paused and resumed here.
            </p>
            <p>
              <a class="button" href={addressOf(view, name)}>
                Back
              </a>
            </p>
          </Empty>
        </Sheet>
      </Page>
    );
  const problem: Child | null =
    error?.code === 'TOCK_VERSION_CONFLICT' ? (
      <>
        Somebody else has edited it since this form was opened.{' '}
        <a href={view.link(path)}>Open it as it is now</a>; what you wrote stays here.
      </>
    ) : (
      (error?.message ?? null)
    );
  return (
    <Page view={view} title={title} current="schedules" lead={LEAD}>
      <ScheduleForm
        view={view}
        action={path}
        fields={fields}
        hidden={{ version: String(version) }}
        problem={problem}
        submit="Save"
        back={addressOf(view, name)}
      />
    </Page>
  );
}

interface NewPageProps {
  readonly view: View;
  readonly name: string;
  readonly fields: ScheduleFields;
  readonly error: TockError | null;
}

const NEW_LEAD =
  'A schedule of a job that is in code, beside those that code defines: one for each tenant, for instance, with a payload of its own. It begins now; earlier occurrences are not caught up.';

function NewPage({ view, name, fields, error }: NewPageProps) {
  const isTaken = error?.code === 'TOCK_VERSION_CONFLICT';
  return (
    <Page view={view} title="New schedule" current="schedules" lead={NEW_LEAD}>
      <ScheduleForm
        view={view}
        action="/new-schedule"
        fields={fields}
        problem={isTaken ? `There is already a schedule ${name}.` : (error?.message ?? null)}
        submit="Make it"
        back={view.link('/schedules')}
      >
        <Group title="Name">
          <label class="entry">
            Letters, digits and . _ : @ -
            <input type="text" name="name" value={name} required maxlength={200} autocomplete="off" />
          </label>
        </Group>
      </ScheduleForm>
    </Page>
  );
}

/** The way to make one, for those who may. */
export function NewSchedule({ view }: { readonly view: View }) {
  if (!includesRole(view.user.role, 'admin')) return null;
  return (
    <a class="button right" href={view.link('/new-schedule')}>
      New schedule …
    </a>
  );
}
