// The fields of a filter. A form with GET, so that the address says what is shown.
import { RUN_STATUSES } from '../../model/run/states.js';
import { Hidden, StatusPill } from '../layout/parts.js';
import type { View } from '../view.js';
import type { FilterText } from './filter.js';

export interface FilterFormProps {
  readonly view: View;
  readonly text: FilterText;
  /** Names of jobs, as suggestions. */
  readonly jobs: readonly string[];
}

export function FilterForm({ view, text, jobs }: FilterFormProps) {
  const isMoreUsed = [text.definition, text.queue, text.key, text.payload, text.to].some(
    value => value !== '',
  );
  return (
    <form class="filter" method="get" action={view.link('/runs')}>
      <fieldset class="states">
        <legend class="unseen">States</legend>
        {RUN_STATUSES.map(status => (
          <label class="chip">
            <input type="checkbox" name="status" value={status} checked={text.status.includes(status)} />
            <StatusPill status={status} />
          </label>
        ))}
      </fieldset>
      <div class="fields">
        <Field label="Job" name="job" text={text} list="jobs" />
        <Field label="Error has" name="error" text={text} placeholder="timeout" />
        <Field label="Since" name="from" text={text} placeholder="24h, 2026-11-21 08:00, all" list="spans" />
        <button class="main">Show</button>
      </div>
      <details open={isMoreUsed}>
        <summary>Schedule, queue, key, payload, until</summary>
        <div class="fields">
          <Field label="Schedule" name="definition" text={text} />
          <Field label="Queue" name="queue" text={text} />
          <Field label="Key" name="key" text={text} />
          {view.user.seesPayloads ? (
            <Field label="Payload has" name="payload" text={text} placeholder='{"invoice": 7}' />
          ) : null}
          <Field label="Until" name="to" text={text} placeholder="1h, 2026-11-21 18:00" />
        </div>
      </details>
      {text.message === '' && text.name === '' ? null : (
        <Hidden fields={{ message: text.message, name: text.name, code: text.code || null }} />
      )}
      <datalist id="jobs">
        {jobs.map(job => (
          <option value={job} />
        ))}
      </datalist>
      <datalist id="spans">
        {['1h', '24h', '7d', '30d', 'all'].map(span => (
          <option value={span} />
        ))}
      </datalist>
    </form>
  );
}

function Field({
  label,
  name,
  text,
  placeholder,
  list,
}: {
  readonly label: string;
  readonly name: Exclude<keyof FilterText, 'status'>;
  readonly text: FilterText;
  readonly placeholder?: string;
  readonly list?: string;
}) {
  return (
    <label class={`field f-${name}`}>
      <span>{label}</span>
      <input
        type="text"
        name={name}
        value={text[name]}
        autocomplete="off"
        spellcheck={false}
        maxlength={name === 'payload' ? 8192 : 512}
        {...(placeholder === undefined ? {} : { placeholder })}
        {...(list === undefined ? {} : { list })}
      />
    </label>
  );
}

/** One box for everything: an id, a name, a key, words of an error. */
export function FindForm({ view, value = '' }: { readonly view: View; readonly value?: string }) {
  return (
    <form class="find" method="get" action={view.link('/runs/find')} role="search">
      <input
        type="search"
        name="q"
        value={value}
        data-search
        autocomplete="off"
        spellcheck={false}
        maxlength={512}
        placeholder="Find by id, job, schedule, key, or words of an error"
        aria-label="Find runs"
      />
      <button>Find</button>
    </form>
  );
}
