// The fair keys of one queue: those with most runs, and one by its name.
import type { BusyKey } from '../../../answers/queues.js';
import { MAX_WAITING, turnWords } from '../../../model/explain/fair-turn.js';
import { ActionForm, Empty, Sheet } from '../../layout/parts.js';
import { numberText, relativeText } from '../../layout/text.js';
import type { View } from '../../view.js';

interface KeysProps {
  readonly view: View;
  readonly queue: string;
  /** Those with most runs; none where one was asked for. */
  readonly busiest: readonly BusyKey[];
  /** The key that was asked for, and where it has runs; null: none was. */
  readonly named: { readonly key: string; readonly found: readonly BusyKey[] } | null;
}

export function Keys({ view, queue, busiest, named }: KeysProps) {
  const path = `/queues/${encodeURIComponent(queue)}`;
  return (
    <>
      <h2 id="keys">
        Keys <small>they take turns; those with most runs first</small>
      </h2>
      <Sheet flush>
        <form method="get" action={`${view.link(path)}#keys`} class="fields padded">
          <label class="grow">
            <span>One key</span>
            <input
              name="key"
              value={named?.key ?? ''}
              placeholder="as the payloads have it: 17"
              maxlength={300}
            />
          </label>
          <button>Show</button>
        </form>
        {named === null ? (
          <KeyTable view={view} queue={queue} keys={busiest} />
        ) : named.found.length === 0 ? (
          <Empty title={`No run has the key ${named.key}`}>
            <p>
              Nothing of it waits or runs in {queue}.{' '}
              <a href={`${view.link(path)}#keys`}>The keys with most runs</a>
            </p>
          </Empty>
        ) : (
          <>
            <KeyTable view={view} queue={queue} keys={named.found} />
            <p class="faint padded">
              <a href={`${view.link(path)}#keys`}>The keys with most runs</a>
            </p>
          </>
        )}
      </Sheet>
    </>
  );
}

function KeyTable({
  view,
  queue,
  keys,
}: Pick<KeysProps, 'view' | 'queue'> & { readonly keys: readonly BusyKey[] }) {
  return (
    <table class="stacked">
      <thead>
        <tr>
          <th>Key</th>
          <th class="n">Running</th>
          <th class="n">Waiting</th>
          <th>What its runs wait for</th>
        </tr>
      </thead>
      <tbody>
        {keys.map(key => (
          <tr>
            <td class="head">
              <a href={`${view.link(`/queues/${encodeURIComponent(queue)}`, { key: key.key })}#keys`}>
                {key.key}
              </a>
              <span class="sub">
                {[key.job === null ? null : `job ${key.job}`, `weight ${key.weight}`]
                  .filter(Boolean)
                  .join(', ')}
              </span>
            </td>
            <td class="n" data-label="Running">
              {numberText(key.running)}
              {key.limit === null ? null : <span class="sub">of {numberText(key.limit)} at once</span>}
            </td>
            <td class="n" data-label="Waiting">
              {numberText(key.waiting, MAX_WAITING)}
            </td>
            <td data-label="What its runs wait for">
              {turnWords(key, at => relativeText(at, view.now))}
              {key.closedUntil === null ? null : (
                <div class="actions">
                  <ActionForm
                    view={view}
                    action={`/queues/${encodeURIComponent(queue)}/open-key`}
                    label={`Open ${key.key}`}
                    fields={{ key: key.key }}
                    needs="operate"
                  />
                </div>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
