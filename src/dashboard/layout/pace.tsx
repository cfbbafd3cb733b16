// At most so many per second, minute or hour: the fields, and what was entered.
import { parseRate } from '../../model/explain/queue-state.js';

const PERIODS = { s: 'second', m: 'minute', h: 'hour' } as const;

export interface EnteredPace {
  readonly count: string;
  readonly per: string;
}

export const NO_PACE: EnteredPace = { count: '', per: 's' };

export function PaceFields({ entered, hint }: { readonly entered: EnteredPace; readonly hint: string }) {
  return (
    <>
      <div class="pace">
        <label for="rate-count">At most</label>
        <input
          id="rate-count"
          name="count"
          value={entered.count}
          inputmode="numeric"
          placeholder="no limit"
          autocomplete="off"
          aria-describedby="rate-hint"
        />
        <label for="rate-per">per</label>
        <select id="rate-per" name="per">
          {Object.entries(PERIODS).map(([unit, word]) => (
            <option value={unit} selected={unit === entered.per}>
              {word}
            </option>
          ))}
        </select>
      </div>
      <p class="faint" id="rate-hint">
        {hint}
      </p>
    </>
  );
}

/** @param text the text of a field */
export function enteredPace(text: (field: string) => string): EnteredPace {
  return { count: text('count'), per: text('per') || 's' };
}

/** Null: no number was entered. @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION */
export function readPace({ count, per }: EnteredPace) {
  return count === '' ? null : parseRate(`${count}/${per}`);
}
