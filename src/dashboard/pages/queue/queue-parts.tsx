// What the pages Queues and one queue share: its state in words, its limits, and who blocks whom.
import { type BlockingKey, MAX_BLOCKED, type QueueLoad } from '../../../answers/queues.js';
import { fairWords } from '../../../model/explain/fair-turn.js';
import { overrideWords } from '../../../model/explain/queue-overrides.js';
import { type QueueVerdict, queueState, rateText } from '../../../model/explain/queue-state.js';
import { includesRole } from '../../../model/operator.js';
import { SUSPECTS } from '../../../model/run/limits.js';
import { Empty, RunLink, Sheet, Time } from '../../layout/parts.js';
import { numberText, relativeText, spanText } from '../../layout/text.js';
import type { View } from '../../view.js';
import { Holders, QueueLink, runName } from '../operate-parts.js';

/** A lower bound ends with a plus sign; one of 0 says nothing. */
export const counted = ({ isCapped }: Pick<QueueLoad, 'isCapped'>, count: number) =>
  !isCapped ? numberText(count) : count === 0 ? '?' : `${numberText(count)}+`;

export const waitText = (since: Date, now: Date) =>
  spanText(Math.max(0, Math.round((now.getTime() - since.getTime()) / 1000) * 1000));

/** `3 at once · 100/1m · 23:00-06:00 Europe/Berlin`; empty if there are none. */
export function limitWords({
  concurrency,
  rate,
  window,
  timezone,
  relayedTo,
  fair,
}: Pick<QueueLoad, 'concurrency' | 'rate' | 'window' | 'timezone' | 'relayedTo' | 'fair'>): string {
  return [
    relayedTo === null ? null : `relayed to ${relayedTo}`,
    concurrency === null ? null : `${numberText(concurrency)} at once`,
    rate === null ? null : rateText(rate),
    fair === null ? null : fairWords(fair),
    window === null ? null : `${window} ${timezone}`,
  ]
    .filter(part => part !== null)
    .join(' · ');
}

/** What was set on top of the code, a line for each: `code: concurrency 4 · set to 2 by ana until 14:20`. */
export const overrideLines = (view: View, queue: QueueLoad) =>
  overrideWords(queue).map(({ stated, set, until }) => (
    <>
      code: {stated} · {set} until {until === null ? 'it is reset' : <Time view={view} at={until} />}
    </>
  ));

const PILLS: Readonly<Record<QueueVerdict['state'], readonly [look: string, word: string]>> = {
  open: ['ok', 'open'],
  paused: ['cancel', 'paused'],
  shut: ['dead', 'none may start'],
  closed: ['skip', 'outside its window'],
  'closed-by-handler': ['skip', 'closed by a handler'],
  full: ['run', 'full'],
  'held-back': ['wait', 'held back by its rate'],
  unserved: ['dead', 'no worker'],
  behind: ['retry', 'behind'],
  blocked: ['wait', 'blocked'],
};

export function QueuePill({ verdict: { state } }: { readonly verdict: QueueVerdict }) {
  const [look, word] = PILLS[state];
  return <span class={`pill ${look}`}>{word}</span>;
}

/** Why its runs do not start, or start late, in a few words; nothing for an open one. */
export function StateNote({ view, queue }: { readonly view: View; readonly queue: QueueLoad }) {
  const { state, until } = queueState(queue, view.now);
  if (state === 'paused')
    return (
      <>
        <Time view={view} at={queue.pausedAt} relative />
        {queue.pausedUntil === null ? null : `, ends ${relativeText(queue.pausedUntil, view.now)}`}
        {queue.pauseReason === null ? null : `: ${queue.pauseReason}`}
      </>
    );
  if (state.startsWith('closed') && until !== null) return <>opens {relativeText(until, view.now)}</>;
  if (state === 'held-back' && until !== null) return <>next start {relativeText(until, view.now)}</>;
  if (state === 'unserved') return <>none claims from it</>;
  if (state === 'behind' && queue.oldestAt !== null) return <>by {waitText(queue.oldestAt, view.now)}</>;
  if (state === 'blocked') return <>its runs wait for slots of other limits, or for their key’s turn</>;
  if (state === 'shut') return <>its concurrency is 0</>;
  return null;
}

/** Limits under which runs wait, with those that hold the slots. */
export function BlockingKeys({ view, keys }: { readonly view: View; readonly keys: readonly BlockingKey[] }) {
  if (keys.length === 0)
    return (
      <Empty title="No run blocks another">
        <p>No run waits for a slot under a limit of its job or schedule.</p>
      </Empty>
    );
  return (
    <Sheet flush>
      <table class="stacked">
        <thead>
          <tr>
            <th>Limit</th>
            <th>Held by</th>
            <th class="n">Wait for it</th>
            <th>First in line</th>
          </tr>
        </thead>
        <tbody>
          {keys.map(key => (
            <tr>
              <td class="head">
                {keyWords(key)}
                <span class="sub">
                  {key.limit === null
                    ? null
                    : `${numberText(key.held)} of ${numberText(key.limit)} slots held`}
                </span>
              </td>
              <td data-label="Held by">
                {key.held === 0 ? (
                  <span class="muted">none: the next claim or tick lets one start</span>
                ) : (
                  <Holders view={view} holders={key.holders} held={key.held} />
                )}
              </td>
              <td class="n" data-label="Wait for it">
                {numberText(key.waiting)}
                {key.isCapped ? '+' : ''}
                <span class="sub">oldest {waitText(key.oldestAt, view.now)}</span>
              </td>
              <td data-label="First in line">
                <RunLink view={view} id={key.first.id} /> <span class="muted">of {runName(key.first)}</span>
                <span class="sub">
                  in <QueueLink view={view} name={key.first.queue} />
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {keys.some(key => key.waiting >= MAX_BLOCKED) ? (
        <p class="faint padded">Counts end at {MAX_BLOCKED}.</p>
      ) : null}
    </Sheet>
  );
}

/** What a concurrency key limits. */
function keyWords({ key, first }: BlockingKey): string {
  const own = `job:${first.job}`;
  if (key.startsWith('definition:')) return `${first.definition ?? 'its schedule'}, one run after the other`;
  if (key === SUSPECTS.key) return 'Runs that get a process of their own';
  if (key === own) return `Job ${first.job}`;
  if (key.startsWith(`${own}/`)) return `Job ${first.job} for ${key.slice(own.length + 1)}`;
  return key;
}

/** By an operator, or by a handler: it can be resumed. */
export const isStopped = ({ pausedAt, closedUntil }: Pick<QueueLoad, 'pausedAt' | 'closedUntil'>) =>
  pausedAt !== null || closedUntil !== null;

/** Leads to the page that says what would start, and asks. */
export function Resume({
  view,
  queue,
  main,
}: {
  readonly view: View;
  readonly queue: Pick<QueueLoad, 'name'>;
  readonly main?: boolean;
}) {
  if (!includesRole(view.user.role, 'operate')) return null;
  return (
    <a
      class={main === true ? 'button main' : 'button'}
      href={view.link(`/queues/${encodeURIComponent(queue.name)}/resume`)}
    >
      Resume …
    </a>
  );
}
