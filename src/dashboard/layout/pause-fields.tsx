// What is asked of who pauses or freezes: until when, and why.
import { findZoneOrUtc } from '../../answers/schedules/zones.js';
import type { Duration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { readAskedInstant } from '../../model/explain/asked-instant.js';
import type { View } from '../view.js';

const SPANS = ['10m', '20m', '1h', '2h', '1d'];

/** When it ends, with spans to choose from. */
export function UntilInput(props: { readonly value?: string; readonly required?: boolean }) {
  const { value = '', required = false } = props;
  return (
    <>
      <input
        type="text"
        name="until"
        required={required}
        list="spans"
        value={value}
        placeholder={required ? '20m, 10:20, 2026-03-09T08:00Z' : 'it is resumed; or 20m, 10:20'}
        autocomplete="off"
      />
      <datalist id="spans">
        {SPANS.map(span => (
          <option value={span} />
        ))}
      </datalist>
    </>
  );
}

/** A span from now by the database's clock, or a time in the reader's zone. @throws TockError */
export function readUntil(text: string, view: View): Date | Duration {
  if (text === '')
    throw new TockError('TOCK_BAD_TIME', 'write when it ends: 20m, 10:20 or 2026-03-09T08:00Z');
  if (/^\+?\d+(?:\.\d+)?[a-z]/i.test(text)) return text.replace('+', '');
  return readAskedInstant(text, findZoneOrUtc(view.zone), view.now, 'until');
}

/** The options of a pause from the fields `until` and `note` of a form. @throws TockError */
export function readPause(form: Readonly<Record<string, unknown>>, view: View) {
  const text = (name: string) => {
    const value = form[name];
    return typeof value === 'string' ? value.trim() : '';
  };
  const [until, note] = [text('until'), text('note')];
  return {
    ...(until === '' ? {} : { until: readUntil(until, view) }),
    ...(note === '' ? {} : { note }),
  };
}
