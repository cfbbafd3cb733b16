// The form of a schedule that is edited or made: what matters first, the rest folded.
import type { Child } from 'hono/jsx';
import { includesRole } from '../../../model/operator.js';
import { Hidden, Suggestions } from '../../layout/parts.js';
import {
  AFTER,
  ENTRIES,
  type Entry,
  FOLDS,
  type Folded,
  KIND_LABELS,
  USUAL,
  WHEN_HINTS,
} from '../../schedules/schedule-entries.js';
import type { FieldName, ScheduleFault } from '../../schedules/schedule-faults.js';
import { KINDS, NEW_FIELDS, type ScheduleFields } from '../../schedules/schedule-form.js';
import { previewOf, TIMES_FIELDS } from '../../schedules/schedule-preview.js';
import type { View } from '../../view.js';
import { type Form, textOf } from './form.js';
import { Times } from './times-preview.js';

/** What was sent; the default of what was not. Those who may not see payloads cannot send one. */
export function fieldsIn(form: Form, { user }: View): ScheduleFields {
  const { payload: _, ...names } = NEW_FIELDS;
  const texts = Object.fromEntries(
    Object.entries(names).map(([name, usual]) => [
      name,
      form[name] === undefined ? usual : (textOf(form, name) ?? ''),
    ]),
  );
  const kind = KINDS.find(each => each === textOf(form, 'kind')) ?? 'cron';
  const payload = textOf(form, 'payload');
  return { ...(texts as typeof names), kind, ...(user.seesPayloads && payload !== null ? { payload } : {}) };
}

export interface ScheduleFormProps {
  readonly view: View;
  /** Where to post, under the base path. */
  readonly action: string;
  readonly fields: ScheduleFields;
  readonly name: string;
  /** Whether its name is asked for. */
  readonly isNew: boolean;
  readonly hidden?: Readonly<Record<string, string>>;
  /** What is wrong with what was sent, other than in a field. */
  readonly problem: Child | null;
  readonly faults: readonly ScheduleFault[];
  readonly zones: readonly string[];
  readonly submit: string;
  /** An address. */
  readonly back: string;
}

export function ScheduleForm(props: ScheduleFormProps) {
  const { view, action, fields, isNew, hidden = {}, problem, faults, submit, back } = props;
  return (
    <form method="post" action={view.link(action)} class="schedule-form">
      <Hidden fields={hidden} />
      {problem === null && faults.length === 0 ? null : (
        <p class="refused" role="alert">
          {problem ??
            (faults.length === 1
              ? 'Nothing was saved: one field needs a change. It says what is wrong.'
              : `Nothing was saved: ${faults.length} fields need a change. Each says what is wrong.`)}
        </p>
      )}
      <First {...props} />
      {FOLDS.map(({ title, about, entries }) => (
        <details class="sheet fold" open={isOpen(props, Object.keys(entries) as Folded[])}>
          <summary>
            <b>{title}</b> <span class="muted">{about}</span>
          </summary>
          <div class="fold-fields">
            {(Object.keys(entries) as Folded[]).map(field => (
              <FieldEntry name={field} value={fields[field]} entry={ENTRIES[field]} faults={faults} />
            ))}
          </div>
        </details>
      ))}
      <div class="buttons">
        {includesRole(view.user.role, 'admin') ? (
          <button class="main">{submit}</button>
        ) : (
          <span class="muted">This needs the role admin.</span>
        )}
        <noscript>
          <button name="show" value="times">
            Show the next times
          </button>
        </noscript>
        <a class="button" href={back}>
          {isNew ? 'Do not create it' : 'Leave it as it is'}
        </a>
      </div>
    </form>
  );
}

/** What matters first: name, job, when, zone, payload; and what comes of it. */
function First({ view, fields, name, isNew, faults, zones }: ScheduleFormProps) {
  const jobs = [...view.tock.jobs.keys()].sort();
  const preview = previewOf(name, fields, view.now);
  return (
    <div class="sheet first-fields">
      {isNew ? (
        <FieldEntry
          name="name"
          value={name}
          entry={{ label: 'Name', hint: 'letters, digits and . _ : @ -' }}
          faults={faults}
        />
      ) : (
        <input type="hidden" name="name" value={name} data-times />
      )}
      <FieldEntry name="job" value={fields.job} entry={{ label: 'Job' }} faults={faults} list="jobs" />
      <Suggestions id="jobs" values={jobs} />
      <div class="timing">
        <FieldEntry
          name="kind"
          value={fields.kind}
          entry={{ label: 'It runs', choices: KINDS.map(kind => [kind, KIND_LABELS[kind]]) }}
          faults={faults}
        />
        <FieldEntry
          name="when"
          value={fields.when}
          entry={{ label: 'When', hint: WHEN_HINTS[fields.kind] }}
          faults={faults}
        />
        <FieldEntry
          name="timezone"
          value={fields.timezone}
          entry={{ label: 'Time zone', hint: 'UTC' }}
          faults={faults}
          list="zones"
        />
        <Suggestions id="zones" values={zones} />
      </div>
      <div
        id="times"
        class="times"
        aria-live="polite"
        hx-get={view.link('/new-schedule/times')}
        hx-trigger={'input delay:300ms from:"closest form"'}
        hx-include="[data-times]"
        hx-sync="this:replace"
        hx-swap="innerHTML"
      >
        <Times view={view} preview={preview} />
      </div>
      {fields.payload === undefined || !view.user.seesPayloads ? null : (
        <FieldEntry
          name="payload"
          value={fields.payload}
          entry={{ label: 'Payload, as JSON', rows: 4 }}
          faults={faults}
        />
      )}
    </div>
  );
}

function isOpen({ view, fields, faults }: ScheduleFormProps, names: readonly Folded[]): boolean {
  const attempts = view.tock.jobs.get(fields.job)?.retry?.maxAttempts ?? 10;
  return names.some(name => {
    if (faults.some(({ field }) => field === name)) return true;
    if (fields.kind === 'after' && name in AFTER) return true;
    const usual = [
      '',
      NEW_FIELDS[name],
      ...(USUAL[name] ?? []),
      ...(name === 'maxAttempts' ? [`${attempts}`] : []),
    ];
    return !usual.includes(fields[name]);
  });
}

const TIMES: ReadonlySet<string> = new Set<string>(['name', ...TIMES_FIELDS]);

interface FieldEntryProps {
  readonly name: FieldName;
  readonly value: string;
  readonly entry: Entry;
  readonly faults: readonly ScheduleFault[];
  /** The id of its suggestions. */
  readonly list?: string;
}

function FieldEntry({ name, value, entry: { label, hint, choices, rows }, faults, list }: FieldEntryProps) {
  const said = faults.filter(({ field }) => field === name);
  const id = `fault-${name}`;
  const attributes = {
    name,
    ...(TIMES.has(name) ? { 'data-times': true } : {}),
    ...(said.length > 0 ? { 'aria-invalid': 'true', 'aria-describedby': id } : {}),
  };
  return (
    <div class={`entry of-${name}`}>
      <label for={`field-${name}`}>{label}</label>
      {choices !== undefined ? (
        <select {...attributes} id={`field-${name}`}>
          {choices.map(([each, words]) => (
            <option value={each} selected={each === value}>
              {words}
            </option>
          ))}
        </select>
      ) : rows !== undefined ? (
        <textarea {...attributes} id={`field-${name}`} rows={rows} class="mono" spellcheck={false}>
          {value}
        </textarea>
      ) : (
        <input
          type="text"
          id={`field-${name}`}
          value={value}
          placeholder={hint}
          autocomplete="off"
          spellcheck={false}
          {...(list === undefined ? {} : { list })}
          {...attributes}
        />
      )}
      {said.length === 0 ? null : (
        <p class="fault" id={id}>
          {said.map(({ message }) => message).join('; ')}
        </p>
      )}
    </div>
  );
}
