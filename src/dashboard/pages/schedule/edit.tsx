// The edit of a schedule that was made at run time, guarded by its version; and the making of one.
import { type OpenedSchedule, requireSchedule } from '../../../answers/schedules/read-schedule.js';
import { readZoneChoices } from '../../../answers/schedules/zones.js';
import { TockError } from '../../../model/errors.js';
import { includesRole } from '../../../model/operator.js';
import { cached } from '../../cached.js';
import { flash } from '../../flash.js';
import { Page } from '../../layout/page.js';
import { Empty, Sheet } from '../../layout/parts.js';
import { faultFrom, faultsOf, type ScheduleFault } from '../../schedules/schedule-faults.js';
import { fieldsOf, inputOf, NEW_FIELDS, type ScheduleFields } from '../../schedules/schedule-form.js';
import { previewOf } from '../../schedules/schedule-preview.js';
import type { App, View } from '../../view.js';
import { addressOf, versionIn } from './actions.js';
import { type Form, textOf } from './form.js';
import { fieldsIn, ScheduleForm } from './schedule-fields.js';
import { Times } from './times-preview.js';

const HOUR_MS = 3_600_000;

export function addEditPages(app: App): void {
  const zonesOf = cached(HOUR_MS, readZoneChoices);
  app.get('/schedules/:name/edit', async c => {
    const view = c.get('view');
    const opened = await requireSchedule(view.reads, c.req.param('name'));
    const { version } = opened.definition;
    const sent = { fields: fieldsOf(opened.definition), faults: [], error: null };
    const zones = await zonesOf(view.reads);
    return c.html(<EditPage view={view} opened={opened} version={version} sent={sent} zones={zones} />);
  });
  app.post('/schedules/:name/edit', async c => {
    const view = c.get('view');
    const opened = await requireSchedule(view.reads, c.req.param('name'));
    const { name, payload } = opened.definition;
    const form = (await c.req.parseBody({ all: true })) as Form;
    const version = versionIn(form);
    const fields = fieldsIn(form, view);
    const page = async (sent: Sent) => (
      <EditPage view={view} opened={opened} version={version} sent={sent} zones={await zonesOf(view.reads)} />
    );
    const refused = refusedBefore(form, null, fields);
    if (refused !== null) return c.html(await page(refused), refused.faults.length === 0 ? 200 : 400);
    try {
      const record = await view.tock.schedules.upsert(inputOf(name, fields, payload), { ifVersion: version });
      const isSame = record.version === version;
      flash(c, isSame ? 'Nothing was changed.' : `${name} is at version ${record.version}.`);
      return c.redirect(addressOf(view, name), 303);
    } catch (error) {
      const { status, ...sent } = refusedBy(error, fields);
      return c.html(await page(sent), status);
    }
  });
  app.get('/new-schedule', async c => {
    const view = c.get('view');
    const sent = { fields: { ...NEW_FIELDS, job: c.req.query('job') ?? '' }, faults: [], error: null };
    return c.html(<NewPage view={view} name="" sent={sent} zones={await zonesOf(view.reads)} />);
  });
  app.post('/new-schedule', async c => {
    const view = c.get('view');
    const form = (await c.req.parseBody({ all: true })) as Form;
    const name = textOf(form, 'name') ?? '';
    const fields = fieldsIn(form, view);
    const page = async (sent: Sent) => (
      <NewPage view={view} name={name} sent={sent} zones={await zonesOf(view.reads)} />
    );
    const refused = refusedBefore(form, name, fields);
    if (refused !== null) return c.html(await page(refused), refused.faults.length === 0 ? 200 : 400);
    try {
      await view.tock.schedules.upsert(inputOf(name, fields, null), { ifVersion: 0 });
      flash(c, `${name} is made.`);
      return c.redirect(addressOf(view, name), 303);
    } catch (error) {
      const { status, ...sent } = refusedBy(error, fields);
      return c.html(await page(sent), status);
    }
  });
  // Asked for by htmx, as one types.
  app.get('/new-schedule/times', c => {
    const view = c.get('view');
    const form: Form = c.req.query();
    const preview = previewOf(textOf(form, 'name') ?? '', fieldsIn(form, view), view.now);
    return c.html(<Times view={view} preview={preview} />);
  });
}

/** What was written, and what is wrong with it. */
interface Sent {
  readonly fields: ScheduleFields;
  readonly faults: readonly ScheduleFault[];
  /** Not of one field. */
  readonly error: TockError | null;
}

/** Without asking the database; also where only the next times are asked for. Null: nothing is wrong. */
function refusedBefore(form: Form, name: string | null, fields: ScheduleFields): Sent | null {
  if (textOf(form, 'show') !== null) return { fields, faults: [], error: null };
  const faults = faultsOf(name, fields);
  return faults.length === 0 ? null : { fields, faults, error: null };
}

function refusedBy(error: unknown, fields: ScheduleFields): Sent & { readonly status: 400 | 409 } {
  const status = statusOf(error);
  if (status === null) throw error;
  const fault = faultFrom(error as TockError);
  return fault === null
    ? { fields, faults: [], error: error as TockError, status }
    : { fields, faults: [fault], error: null, status };
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
  readonly version: number;
  readonly sent: Sent;
  readonly zones: readonly string[];
}

const LEAD =
  'Takes effect now. What was due before is still run as it was; runs that wait for a later time are withdrawn; a running one is never touched.';

function EditPage({ view, opened, version, sent: { fields, faults, error }, zones }: EditPageProps) {
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
  const problem =
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
        name={name}
        isNew={false}
        hidden={{ version: String(version) }}
        problem={problem}
        faults={faults}
        zones={zones}
        submit="Save"
        back={addressOf(view, name)}
      />
    </Page>
  );
}

interface NewPageProps {
  readonly view: View;
  readonly name: string;
  readonly sent: Sent;
  readonly zones: readonly string[];
}

const NEW_LEAD =
  'A schedule of a job that is in code, beside those that code defines: one for each tenant, for instance, with a payload of its own. It begins now; earlier occurrences are not caught up.';

function NewPage({ view, name, sent: { fields, faults, error }, zones }: NewPageProps) {
  const isTaken = error?.code === 'TOCK_VERSION_CONFLICT';
  const taken = `There is already a schedule ${name}: choose another name, or edit that one.`;
  return (
    <Page view={view} title="New schedule" current="schedules" lead={NEW_LEAD}>
      <ScheduleForm
        view={view}
        action="/new-schedule"
        fields={fields}
        name={name}
        isNew
        problem={isTaken ? null : (error?.message ?? null)}
        faults={isTaken ? [...faults, { field: 'name', message: taken }] : faults}
        zones={zones}
        submit="Create the schedule"
        back={view.link('/schedules')}
      />
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
