// The fields of a schedule as a form, for one that is edited and for one that is made.
import type { Child } from 'hono/jsx';
import { includesRole } from '../../../model/operator.js';
import { CATCHUP_POLICIES, OVERLAP_POLICIES } from '../../../model/planning/plan-occurrences.js';
import { Hidden } from '../../layout/parts.js';
import { KINDS, type Kind, type ScheduleFields } from '../../schedules/schedule-form.js';
import type { View } from '../../view.js';
import { type Form, textOf } from './form.js';

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

/** What was sent. Those who may not see payloads cannot send one. */
export function fieldsIn(form: Form, { user }: View): ScheduleFields {
  const texts = Object.fromEntries(NAMES.map(name => [name, textOf(form, name) ?? ''])) as Record<
    (typeof NAMES)[number],
    string
  >;
  const kind = KINDS.find(each => each === textOf(form, 'kind')) ?? 'cron';
  const payload = textOf(form, 'payload');
  return { ...texts, kind, ...(user.seesPayloads && payload !== null ? { payload } : {}) };
}

export interface ScheduleFormProps {
  readonly view: View;
  /** Where to post, under the base path. */
  readonly action: string;
  readonly fields: ScheduleFields;
  readonly hidden?: Readonly<Record<string, string>>;
  /** What is wrong with what was sent. */
  readonly problem: Child | null;
  readonly submit: string;
  /** An address. */
  readonly back: string;
  /** Fields before all others. */
  readonly children?: Child;
}

const KIND_LABELS: Readonly<Record<Kind, string>> = {
  cron: 'Cron',
  every: 'Every',
  at: 'Once, at',
  after: 'After others',
};

export function ScheduleForm({
  view,
  action,
  fields,
  hidden = {},
  problem,
  submit,
  back,
  children,
}: ScheduleFormProps) {
  const text = (field: keyof ScheduleFields, label: string, hint = '') => (
    <label class="entry">
      {label} <input type="text" name={field} value={fields[field] ?? ''} placeholder={hint} />
    </label>
  );
  const choice = (field: keyof ScheduleFields, label: string, values: readonly string[]) => (
    <label class="entry">
      {label}
      <select name={field}>
        {values.map(value => (
          <option value={value} selected={value === fields[field]}>
            {value === '' ? 'default' : value}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <form method="post" action={view.link(action)} class="schedule-form">
      <Hidden fields={hidden} />
      {problem === null ? null : (
        <p class="refused" role="alert">
          {problem}
        </p>
      )}
      {children}
      <Group title="When">
        <label class="entry">
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
        <label class="entry wide">
          Without: dates or cron sets, one a line
          <textarea name="exclude" rows={2}>
            {fields.exclude}
          </textarea>
        </label>
        {choice('require', 'After others: needs', ['all', 'any'])}
        {choice('on', 'After others: on', ['success', 'failure', 'completion'])}
      </Group>
      <Group title="How">
        {choice('overlap', 'Overlap', ['', ...OVERLAP_POLICIES])}
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
        <label class="entry">
          Job <input type="text" name="job" value={fields.job} list="jobs" required autocomplete="off" />
        </label>
        <datalist id="jobs">
          {[...view.tock.jobs.keys()].sort().map(job => (
            <option value={job} />
          ))}
        </datalist>
        {text('queue', 'Queue', 'that of the job')}
        {text('priority', 'Priority, lower goes first', 'that of the job')}
        {text('maxAttempts', 'Attempts at most', 'as many as the job has')}
        {fields.payload === undefined || !view.user.seesPayloads ? null : (
          <label class="entry wide">
            Payload
            <textarea name="payload" rows={4} class="mono">
              {fields.payload}
            </textarea>
          </label>
        )}
      </Group>
      <div class="buttons">
        {includesRole(view.user.role, 'admin') ? (
          <button class="main">{submit}</button>
        ) : (
          <span class="muted">This needs the role admin.</span>
        )}
        <a class="button" href={back}>
          Cancel
        </a>
      </div>
    </form>
  );
}

export function Group({ title, children }: { readonly title: string; readonly children?: Child }) {
  return (
    <fieldset class="sheet group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}
