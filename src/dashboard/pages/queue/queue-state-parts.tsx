// The state of one queue: a sentence, figures, and which runs hold its slots.
import { MAX_COUNTED, type QueueLoad } from '../../../answers/queues.js';
import type { AuditRecord } from '../../../model/audit.js';
import { queueState, rateText, rateWords } from '../../../model/explain/queue-state.js';
import { Sheet, Time } from '../../layout/parts.js';
import { numberText } from '../../layout/text.js';
import type { View } from '../../view.js';
import { Holders } from '../operate-parts.js';
import { counted, StateNote, waitText } from './queue-parts.js';

/** What it does, in a sentence or two. */
export function Lead({
  view,
  queue,
  records,
}: {
  readonly view: View;
  readonly queue: QueueLoad;
  readonly records: readonly AuditRecord[];
}) {
  const { state } = queueState(queue, view.now);
  const by = records.find(({ action }) => action === 'queues.pause')?.operator;
  switch (state) {
    case 'paused':
      return (
        <>
          Paused <Time view={view} at={queue.pausedAt} relative />
          {by === undefined ? null : ` by ${by}`}
          {queue.pauseReason === null ? '.' : `: ${queue.pauseReason}.`} None of its runs starts until{' '}
          {queue.pausedUntil === null ? 'it is resumed' : <Time view={view} at={queue.pausedUntil} />};
          running ones go on.
        </>
      );
    case 'shut':
      return <>Its concurrency is 0, so none of its runs starts.</>;
    case 'closed':
      return (
        <>
          Its window is {queue.window} {queue.timezone}; it <StateNote view={view} queue={queue} />. Running
          runs go on.
        </>
      );
    case 'closed-by-handler':
      return (
        <>
          A handler has closed it, such as for a receiver that was busy; it{' '}
          <StateNote view={view} queue={queue} />. Running runs go on.
        </>
      );
    case 'full':
      return <>All its slots are held: the next run starts when one of them ends.</>;
    case 'held-back':
      return (
        <>
          Its rate of {rateText(queue.rate)} is used up: <StateNote view={view} queue={queue} />.
        </>
      );
    case 'unserved':
      return (
        <>
          No worker claims from it: its oldest due run has waited for {oldestText(view, queue)}. Ticks and
          workers are on the page <a href={view.link('/workers')}>Workers</a>.
        </>
      );
    case 'behind':
      return (
        <>
          It is {oldestText(view, queue)} behind: {numberText(queue.claimers)}{' '}
          {queue.claimers === 1 ? 'worker claims' : 'workers claim'} from it, and its runs come faster than
          they end, or are held up by runs before them.
        </>
      );
    case 'blocked':
      return (
        <>
          All of its due runs wait for slots under other limits, which are listed below, or for their key’s
          turn.
        </>
      );
    case 'open':
      if (queue.rate !== null)
        return (
          <>At most {rateWords(queue.rate)} of its runs start: it keeps this rate until it is changed.</>
        );
      return <>Its runs start as soon as they are due and a worker is free.</>;
  }
}

const oldestText = (view: View, { oldestAt }: QueueLoad) => waitText(oldestAt ?? view.now, view.now);

export function QueueFigures({ view, queue }: { readonly view: View; readonly queue: QueueLoad }) {
  const { name, waiting, running, later, blocked, oldestAt, concurrency, held } = queue;
  return (
    <div class="figures">
      <a href={view.link('/runs', { queue: name, status: 'queued,failed' })}>
        <span class="name">Waiting</span>
        <span class="value">{counted(queue, waiting)}</span>
        <small>{oldestAt === null ? 'none is due' : `oldest for ${waitText(oldestAt, view.now)}`}</small>
      </a>
      <a href={view.link('/runs', { queue: name, status: 'running' })}>
        <span class="name">Running</span>
        <span class="value">{counted(queue, running)}</span>
        <small>
          {concurrency === null ? 'no limit' : `${numberText(held)} of ${numberText(concurrency)} slots`}
        </small>
      </a>
      <div>
        <span class="name">Later</span>
        <span class="value">{counted(queue, later)}</span>
        <small>due in the future</small>
      </div>
      <div>
        <span class="name">Blocked</span>
        <span class="value">{numberText(blocked, MAX_COUNTED)}</span>
        <small>by another limit</small>
      </div>
    </div>
  );
}

/** The runs that hold its slots. */
export function Slots({ view, queue }: { readonly view: View; readonly queue: QueueLoad }) {
  const { concurrency, held, holders } = queue;
  return (
    <>
      <h2>
        Slots <small>{`${numberText(held)} of ${numberText(concurrency ?? 0)} held`}</small>
      </h2>
      <Sheet>
        {concurrency === null || concurrency === 0 ? null : (
          <progress
            max={concurrency}
            value={Math.min(held, concurrency)}
            aria-label={`${held} of ${concurrency} slots held`}
          />
        )}
        {held === 0 ? (
          <p class="muted">No slot is held.</p>
        ) : (
          <Holders view={view} holders={holders} held={held} />
        )}
        {held > (concurrency ?? 0) ? (
          <p class="muted">
            More are held than there are: the limit was lowered. The runs go on, and none starts until enough
            have ended.
          </p>
        ) : null}
      </Sheet>
    </>
  );
}
