// What the script opens over a page: the list of keys, and the question before an action. Closed without it.
import type { Entry } from './navigation.js';

/** @param entries pages that keys lead to */
export function Dialogs({ entries }: { readonly entries: readonly Pick<Entry, 'key' | 'label'>[] }) {
  return (
    <>
      <dialog id="help" aria-labelledby="help-title">
        <h2 id="help-title">Keys</h2>
        <dl class="keys">
          <Key keys={['/']} meaning="search" />
          <Key keys={['j', 'k']} meaning="the next row, the one before" />
          <Key keys={['Enter']} meaning="open the row" />
          {entries.map(({ key, label }) => (
            <Key keys={['g', key]} meaning={label} />
          ))}
          <Key keys={['?']} meaning="this list" />
        </dl>
        <form method="dialog">
          <button>Close</button>
        </form>
      </dialog>
      <dialog id="confirm" aria-labelledby="confirm-title">
        <h2 id="confirm-title"></h2>
        <p></p>
        <form method="dialog" class="actions">
          <button class="main" value="yes"></button>
          <button value="no" autofocus></button>
        </form>
      </dialog>
    </>
  );
}

function Key({ keys, meaning }: { readonly keys: readonly string[]; readonly meaning: string }) {
  return (
    <>
      <dt>
        {keys.map((key, index) => (
          <>
            {index === 0 ? '' : ' '}
            <kbd>{key}</kbd>
          </>
        ))}
      </dt>
      <dd>{meaning}</dd>
    </>
  );
}
