// The fields of a filter. A form with GET, so that the address says what is shown.
import type { FilterFault, FilterText } from '../../model/run/match/filter-text.js';
import { SINCE_EVER } from '../../model/run/match/run-match.js';
import type { RunOrder } from '../../model/run/match/run-order.js';
import { RUN_STATUSES } from '../../model/run/states.js';
import { Hidden, StatusPill, Suggestions } from '../layout/parts.js';
import type { View } from '../view.js';

export interface FilterFormProps {
  readonly view: View;
  readonly text: FilterText;
  /** Names of jobs, as suggestions. */
  readonly jobs: readonly string[];
  /** What is wrong with it: said in the field. */
  readonly faults?: readonly FilterFault[];
  /** Default: newest. */
  readonly order?: RunOrder | undefined;
}

export function FilterForm({ view, text, jobs, faults = [], order }: FilterFormProps) {
  const isMoreUsed = [
    text.definition,
    text.queue,
    text.group,
    text.key,
    text.tag,
    text.deploy,
    text.payload,
  ].some(value => value !== '');
  const Field = (props: FieldProps) => <FilterField {...props} text={text} faults={faults} />;
  return (
    <form class="filter" method="get" action={view.link('/runs')}>
      <Faults faults={faults} />
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
        <Field label="Job" name="job" list="jobs" />
        <Field label="Error has" name="error" placeholder="timeout" />
        <Field label="From" name="from" placeholder="-2h, yesterday" list="begins" />
        <Field label="To" name="to" placeholder="today, -1h" list="ends" />
        <label class="field f-order">
          <span>Order</span>
          <select name="order">
            <option value="">newest first</option>
            <option value="ended" selected={order === 'ended'}>
              ended last first
            </option>
          </select>
        </label>
        <button class="main">Show</button>
      </div>
      <details open={isMoreUsed}>
        <summary>Schedule, queue, group, key, tags, deploy, payload</summary>
        <div class="fields">
          <Field label="Schedule" name="definition" />
          <Field label="Queue" name="queue" />
          <Field label="Group" name="group" placeholder="id of its join" />
          <Field label="Key" name="key" />
          <Field label="Tags" name="tag" placeholder="import customer-812" />
          <Field label="Deploy" name="deploy" />
          {view.user.seesPayloads ? (
            <Field label="Payload has" name="payload" placeholder='customer=812 or {"customer": 812}' />
          ) : null}
        </div>
      </details>
      {text.message === '' && text.name === '' ? null : (
        <Hidden fields={{ message: text.message, name: text.name, code: text.code || null }} />
      )}
      <Suggestions id="jobs" values={jobs} />
      <Suggestions id="begins" values={['-1h', '-24h', 'today', 'yesterday', '-7d', '-30d', SINCE_EVER]} />
      <Suggestions id="ends" values={['today', 'now', '-1h', '-24h']} />
    </form>
  );
}

function Faults({ faults }: { readonly faults: readonly FilterFault[] }) {
  if (faults.length === 0) return null;
  return (
    <div class="faults" role="alert">
      {faults.map(({ field, message }) => (
        <p id={`fault-${field}`}>{message}</p>
      ))}
    </div>
  );
}

interface FieldProps {
  readonly label: string;
  readonly name: Exclude<keyof FilterText, 'status'>;
  readonly placeholder?: string;
  readonly list?: string;
}

function FilterField({
  label,
  name,
  text,
  faults,
  placeholder,
  list,
}: FieldProps & Pick<FilterFormProps, 'text'> & { readonly faults: readonly FilterFault[] }) {
  const isWrong = faults.some(({ field }) => field === name);
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
        {...(isWrong ? { 'aria-invalid': 'true', 'aria-describedby': `fault-${name}` } : {})}
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
