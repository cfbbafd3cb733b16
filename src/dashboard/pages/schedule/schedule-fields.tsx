// The fields of a schedule as a form, for one that is edited and for one that is made.
import type { Child } from 'hono/jsx';
import { includesRole } from '../../../model/operator.js';
import { CATCHUP_POLICIES, OVERLAP_POLICIES } from '../../../model/planning/policies.js';
import { Hidden } from '../../layout/parts.js';
import { KINDS, type Kind, NEW_FIELDS, type ScheduleFields } from '../../schedules/schedule-form.js';
import type { View } from '../../view.js';
import { type Form, textOf } from './form.js';

/** What was sent. Those who may not see payloads cannot send one. */
export function fieldsIn(form: Form, { user }: View): ScheduleFields {
  const { payload: _, ...names } = NEW_FIELDS;
  const texts = Object.fromEntries(Object.keys(names).map(name => [name, textOf(form, name) ?? '']));
  const kind = KINDS.find(each => each === textOf(form, 'kind')) ?? 'cron';
  const payload = textOf(form, 'payload');
  return { ...(texts as typeof names), kind, ...(user.seesPayloads && payload !== null ? { payload } : {}) };
}

/** The label of a field; and a hint, or the values to choose from. */
type Entry = readonly [label: string, hint: string | readonly string[]];

const WHEN = {
  when: ['When', '30 2 * * *, 5m, 2026-12-24T12:00:00Z, or names'],
  timezone: ['Time zone', 'UTC'],
  dst: ['Summer time', ['once', 'skip', 'literal']],
  phase: ['Phase of an interval', 'none'],
  startAt: ['Not before', 'no bound'],
  endAt: ['Not after', 'no bound'],
} as const;
const AFTER = {
  require: ['After others: needs', ['all', 'any']],
  on: ['After others: on', ['success', 'failure', 'completion']],
} as const;
const HOW = {
  overlap: ['Overlap', ['', ...OVERLAP_POLICIES]],
  catchup: ['Catch-up', CATCHUP_POLICIES],
  catchupWindow: ['Catch-up window', 'none'],
  jitter: ['Jitter', 'none'],
  window: ['Only from–to', '23:00-06:00'],
  outsideWindow: ['Outside of it', ['defer', 'skip']],
  startDeadline: ['Start deadline', 'none'],
  remaining: ['Runs in all', 'no limit'],
  pauseOnFailure: ['Pauses after dead runs in a row', 'never'],
  within: ['Success expected within', 'nothing is expected'],
  maxDuration: ['Takes at most', 'nothing is expected'],
} as const;
const WHAT = {
  queue: ['Queue', 'that of the job'],
  priority: ['Priority, lower goes first', 'that of the job'],
  maxAttempts: ['Attempts at most', 'as many as the job has'],
} as const;

/** A field that is in no form would be reset by each edit; leaving one out does not compile. */
const ENTRIES: Readonly<
  Record<Exclude<keyof ScheduleFields, 'kind' | 'exclude' | 'job' | 'payload'>, Entry>
> = {
  ...WHEN,
  ...AFTER,
  ...HOW,
  ...WHAT,
};

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
  const entries = (names: object) =>
    (Object.keys(names) as (keyof typeof ENTRIES)[]).map(field => (
      <FieldEntry name={field} value={fields[field]} entry={ENTRIES[field]} />
    ));
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
        {entries(WHEN)}
        <label class="entry wide">
          Without: dates or cron sets, one a line
          <textarea name="exclude" rows={2}>
            {fields.exclude}
          </textarea>
        </label>
        {entries(AFTER)}
      </Group>
      <Group title="How">{entries(HOW)}</Group>
      <Group title="What">
        <label class="entry">
          Job <input type="text" name="job" value={fields.job} list="jobs" required autocomplete="off" />
        </label>
        <datalist id="jobs">
          {[...view.tock.jobs.keys()].sort().map(job => (
            <option value={job} />
          ))}
        </datalist>
        {entries(WHAT)}
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

interface FieldEntryProps {
  readonly name: string;
  readonly value: string;
  readonly entry: Entry;
}

function FieldEntry({ name, value, entry: [label, hint] }: FieldEntryProps) {
  if (typeof hint === 'string')
    return (
      <label class="entry">
        {label} <input type="text" name={name} value={value} placeholder={hint} />
      </label>
    );
  return (
    <label class="entry">
      {label}
      <select name={name}>
        {hint.map(each => (
          <option value={each} selected={each === value}>
            {each === '' ? 'default' : each}
          </option>
        ))}
      </select>
    </label>
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
