// The edit of a schedule that was made at run time, guarded by its version.
import type { Child } from 'hono/jsx';
import { TockError } from '../../../model/errors.js';
import { includesRole } from '../../../model/operator.js';
import { CATCHUP_POLICIES, OVERLAP_POLICIES } from '../../../model/planning/plan-occurrences.js';
import { flash } from '../../flash.js';
import { Page } from '../../layout/page.js';
import { Empty, Sheet } from '../../layout/parts.js';
import { type OpenedSchedule, requireSchedule } from '../../schedules/read-schedule.js';
import { fieldsOf, inputOf, KINDS, type Kind, type ScheduleFields } from '../../schedules/schedule-form.js';
import type { App, View } from '../../view.js';
import { addressOf, versionIn } from './actions.js';
import { type Form, textOf } from './form.js';

export function addEditPage(app: App): void {
  app.get('/schedules/:name/edit', async c => {
    const view = c.get('view');
    const opened = await requireSchedule(view.reads, c.req.param('name'));
    const fields = fieldsOf(opened.definition);
    return c.html(
      <EditPage
        view={view}
        opened={opened}
        fields={fields}
        version={opened.definition.version}
        problem={null}
      />,
    );
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
      flash(
        c,
        record.version === version ? 'Nothing was changed.' : `${name} is at version ${record.version}.`,
      );
      return c.redirect(addressOf(view, name), 303);
    } catch (error) {
      if (!isMistake(error)) throw error;
      return c.html(
        <EditPage view={view} opened={opened} fields={fields} version={version} problem={error.message} />,
        400,
      );
    }
  });
}

/** A mistake in the form, which its writer can mend; the others have a page of their own. */
function isMistake(error: unknown): error is TockError {
  const others = ['TOCK_FORBIDDEN', 'TOCK_VERSION_CONFLICT', 'TOCK_DATABASE_UNREACHABLE', 'TOCK_CLOSED'];
  return error instanceof TockError && !others.includes(error.code);
}

const NAMES = [
  'job',
  'when',
  'phase',
  'require',
  'on',
  'timezone',
  'dst',
  'overlap',
  'catchup',
  'catchupWindow',
  'jitter',
  'window',
  'outsideWindow',
  'startDeadline',
  'startAt',
  'endAt',
  'exclude',
  'remaining',
  'pauseOnFailure',
  'queue',
  'priority',
  'maxAttempts',
] as const;

function fieldsIn(form: Form, { user }: View): ScheduleFields {
  const texts = Object.fromEntries(NAMES.map(name => [name, textOf(form, name) ?? ''])) as Record<
    (typeof NAMES)[number],
    string
  >;
  const kind = KINDS.find(each => each === textOf(form, 'kind')) ?? 'cron';
  const payload = textOf(form, 'payload');
  return { ...texts, kind, ...(user.seesPayloads && payload !== null ? { payload } : {}) };
}

interface EditPageProps {
  readonly view: View;
  readonly opened: OpenedSchedule;
  readonly fields: ScheduleFields;
  readonly version: number;
  readonly problem: string | null;
}

const LEAD =
  'Takes effect now. What was due before is still run as it was; runs that wait for a later time are withdrawn; a running one is never touched.';

const KIND_LABELS: Readonly<Record<Kind, string>> = {
  cron: 'Cron',
  every: 'Every',
  at: 'Once, at',
  after: 'After others',
};

function EditPage({ view, opened, fields, version, problem }: EditPageProps) {
  const { definition } = opened;
  const { name, origin, vanished_at: vanished } = definition;
  const title = `Edit ${name}`;
  const back = addressOf(view, name);
  if (origin === 'code' && !vanished)
    return (
      <Page view={view} title={title} current="schedules">
        <Sheet>
          <Empty title="This schedule is defined in code">
            <p>
              Edit it there; the next tick with the new code registers it. It can be paused and resumed here.
            </p>
            <p>
              <a class="button" href={back}>
                Back
              </a>
            </p>
          </Empty>
        </Sheet>
      </Page>
    );
  const text = (field: keyof ScheduleFields, label: string, hint = '') => (
    <label class="field">
      {label} <input type="text" name={field} value={fields[field] ?? ''} placeholder={hint} />
    </label>
  );
  const choice = (field: keyof ScheduleFields, label: string, values: readonly string[]) => (
    <label class="field">
      {label}
      <select name={field}>
        {values.map(value => (
          <option value={value} selected={value === fields[field]}>
            {value}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <Page view={view} title={title} current="schedules" lead={LEAD}>
      <form
        method="post"
        action={view.link(`/schedules/${encodeURIComponent(name)}/edit`)}
        class="schedule-form"
      >
        <input type="hidden" name="version" value={String(version)} />
        {problem === null ? null : (
          <p class="refused" role="alert">
            {problem}
          </p>
        )}
        <Group title="When">
          <label class="field">
            Kind
            <select name="kind">
              {KINDS.map(kind => (
                <option value={kind} selected={kind === fields.kind}>
                  {KIND_LABELS[kind]}
                </option>
              ))}
            </select>
          </label>
          {text('when', 'When', '30 2 * * *, 5m, 2026-12-24T12:00:00Z, or names')}
          {text('timezone', 'Time zone', 'UTC')}
          {choice('dst', 'Summer time', ['once', 'skip', 'literal'])}
          {text('phase', 'Phase of an interval', 'none')}
          {text('startAt', 'Not before', 'no bound')}
          {text('endAt', 'Not after', 'no bound')}
          <label class="field wide">
            Without: dates or cron sets, one a line
            <textarea name="exclude" rows={2}>
              {fields.exclude}
            </textarea>
          </label>
          {choice('require', 'After others: needs', ['all', 'any'])}
          {choice('on', 'After others: on', ['success', 'failure', 'completion'])}
        </Group>
        <Group title="How">
          {choice('overlap', 'Overlap', OVERLAP_POLICIES)}
          {choice('catchup', 'Catch-up', CATCHUP_POLICIES)}
          {text('catchupWindow', 'Catch-up window', 'none')}
          {text('jitter', 'Jitter', 'none')}
          {text('window', 'Only from–to', '23:00-06:00')}
          {choice('outsideWindow', 'Outside of it', ['defer', 'skip'])}
          {text('startDeadline', 'Start deadline', 'none')}
          {text('remaining', 'Runs in all', 'no limit')}
          {text('pauseOnFailure', 'Pauses after dead runs in a row', 'never')}
        </Group>
        <Group title="What">
          {text('job', 'Job')}
          {text('queue', 'Queue', 'default')}
          {text('priority', 'Priority, lower goes first', '0')}
          {text('maxAttempts', 'Attempts at most', '10')}
          {fields.payload === undefined || !view.user.seesPayloads ? null : (
            <label class="field wide">
              Payload
              <textarea name="payload" rows={4} class="mono">
                {fields.payload}
              </textarea>
            </label>
          )}
        </Group>
        <p class="buttons">
          {includesRole(view.user.role, 'admin') ? (
            <button class="main">Save</button>
          ) : (
            <span class="muted">Saving needs the role admin.</span>
          )}
          <a class="button" href={back}>
            Back
          </a>
        </p>
      </form>
    </Page>
  );
}

function Group({ title, children }: { readonly title: string; readonly children?: Child }) {
  return (
    <fieldset class="sheet group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}
