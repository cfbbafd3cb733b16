// A run of a job by hand: a form made from its payload's schema, or one field of JSON.
import { declareJob } from '../../model/job/define-job.js';
import { readJson } from '../../model/job/payload/json-text.js';
import { type PayloadField, payloadFields, payloadOfForm } from '../../model/job/payload/payload-form.js';
import { Sheet } from '../layout/parts.js';
import type { View } from '../view.js';

type Job = NonNullable<ReturnType<View['tock']['jobs']['get']>>;

/** What was written in a field of the form. */
export type Entered = (field: string) => string;

/** So that no property is taken for another field of the form. */
const inForm = (name: string) => `p:${name}`;
const JSON_FIELD = 'payload';

/** The job of this code; of that name, one that other code executes: its worker checks the payload. */
export const jobNamed = ({ tock }: View, name: string): Job => tock.jobs.get(name) ?? declareJob({ name });

/** @throws TockError TOCK_BAD_PAYLOAD */
export function payloadEntered(job: Job, entered: Entered): unknown {
  const fields = payloadFields(job.payload);
  if (fields !== null) return payloadOfForm(fields, field => entered(inForm(field)));
  return readJson(entered(JSON_FIELD).trim() || '{}', 'the payload');
}

export interface RunFormProps {
  readonly view: View;
  readonly job: Job;
  /** What was refused, and why. */
  readonly refused: { readonly entered: Entered; readonly message: string } | null;
}

export function RunForm({ view, job, refused }: RunFormProps) {
  const fields = payloadFields(job.payload);
  return (
    <>
      <h2>Run now</h2>
      <Sheet>
        <form
          method="post"
          action={view.link(`/jobs/${encodeURIComponent(job.name)}/run`)}
          class="schedule-form run-form"
        >
          {refused === null ? null : (
            <p class="refused" role="alert">
              {refused.message}
            </p>
          )}
          {fields === null ? (
            <label class="entry wide">
              Payload, as JSON
              <textarea name={JSON_FIELD} rows={4} class="mono" placeholder="{}" spellcheck={false}>
                {refused?.entered(JSON_FIELD) ?? ''}
              </textarea>
            </label>
          ) : (
            fields.map(field => (
              <Entry field={field} value={refused?.entered(inForm(field.name)) ?? field.initial} />
            ))
          )}
          {job.isDeclared ? (
            <p class="faint">This code does not have the job: its own worker checks the payload.</p>
          ) : null}
          <div class="buttons">
            <button class="main">Run {job.name}</button>
          </div>
        </form>
      </Sheet>
    </>
  );
}

function Entry({ field, value }: { readonly field: PayloadField; readonly value: string }) {
  const { name, kind, isRequired, choices, description } = field;
  const options = kind === 'boolean' ? ['true', 'false'] : choices;
  return (
    <label class="entry wide">
      <span>
        {name}
        {isRequired ? '' : <span class="faint"> (may be empty)</span>}
        {description === '' ? null : <span class="sub">{description}</span>}
      </span>
      {options.length > 0 ? (
        <select name={inForm(name)} required={isRequired}>
          {isRequired && value !== '' ? null : <option value=""></option>}
          {options.map(each => (
            <option value={each} selected={each === value}>
              {each}
            </option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          name={inForm(name)}
          value={value}
          required={isRequired}
          inputmode={kind === 'number' ? 'decimal' : undefined}
          placeholder={kind === 'json' ? 'JSON' : kind === 'number' ? 'a number' : ''}
          autocomplete="off"
        />
      )}
    </label>
  );
}
