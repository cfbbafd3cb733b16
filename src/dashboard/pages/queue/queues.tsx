// Queues: what waits where and since when, their limits and pauses, and who blocks whom.
import { MAX_COUNTED, type QueueLoad, readBlockingKeys, readQueueLoad } from '../../../answers/queues.js';
import { queueState } from '../../../model/explain/queue-state.js';
import { checkName } from '../../../model/names.js';
import { Page } from '../../layout/page.js';
import { Empty, Sheet } from '../../layout/parts.js';
import { numberText } from '../../layout/text.js';
import type { App, View } from '../../view.js';
import { QueueLink, Warning } from '../operate-parts.js';
import {
  BlockingKeys,
  counted,
  isStopped,
  limitWords,
  overrideLines,
  QueuePill,
  Resume,
  StateNote,
  waitText,
} from './queue-parts.js';

const PAGE_SIZE = 50;

export function addQueuesPage(app: App): void {
  app.get('/queues', async c => {
    const view = c.get('view');
    const { name, after } = c.req.query();
    if (name)
      return c.redirect(
        view.link(`/queues/${encodeURIComponent(checkName(name, 'queue', 'TOCK_BAD_OPTION'))}`),
        303,
      );
    const start = after ? checkName(after, 'queue', 'TOCK_BAD_OPTION') : null;
    const [found, keys] = await Promise.all([
      readQueueLoad(view.reads, { after: start, limit: PAGE_SIZE + 1 }),
      readBlockingKeys(view.reads),
    ]);
    const queues = found.slice(0, PAGE_SIZE);
    return c.html(
      <Page
        view={view}
        title="Queues"
        current="queues"
        live={5}
        lead="Limits hold over all hosts. A change applies from the next claim on; running runs are not touched."
      >
        <PausedWarning view={view} queues={queues} />
        {queues.length === 0 ? (
          <NoQueues isFirst={start === null} />
        ) : (
          <QueueTable view={view} queues={queues} />
        )}
        <p class="pager">
          {start === null ? null : <a href={view.link('/queues')}>First page</a>}
          {found.length > PAGE_SIZE ? (
            <a href={view.link('/queues', { after: queues.at(-1)?.name })}>More queues</a>
          ) : null}
        </p>
        <h2>
          Who blocks whom <small>runs that wait for a slot under a limit of their job or schedule</small>
        </h2>
        <BlockingKeys view={view} keys={keys} />
        <p>
          <a href={view.link('/freeze')}>Freeze all hosts</a>: nothing starts in any queue, until a time.
        </p>
        <h2>Another queue</h2>
        <form method="get" action={view.link('/queues')} class="fields">
          <label>
            <span>Name</span>
            <input
              name="name"
              required
              pattern="[A-Za-z0-9][A-Za-z0-9._:@\-]*"
              maxlength={200}
              placeholder="reports"
            />
          </label>
          <button>Open</button>
        </form>
        <p class="faint">
          A queue exists as soon as a run or a limit names it. Open one to pause it or to limit it before it
          has runs.
        </p>
      </Page>,
    );
  });
}

function NoQueues({ isFirst }: { readonly isFirst: boolean }) {
  if (!isFirst) return <Empty title="No more queues" />;
  return (
    <Empty title="No queue has runs, limits or a pause">
      <p>
        Runs are in the queue <code>default</code>, unless their job or the call that enqueues them names
        another one:
      </p>
      <pre>
        <code>
          defineJob({'{'} name: 'weekly-report', queue: 'reports', … {'}'})
        </code>
      </pre>
    </Empty>
  );
}

/** Of queues that an operator has stopped, and that hold up runs. */
function PausedWarning({ view, queues }: { readonly view: View; readonly queues: readonly QueueLoad[] }) {
  const stopped = queues.filter(
    queue => ['paused', 'shut'].includes(queueState(queue, view.now).state) && queue.waiting > 0,
  );
  const [only] = stopped;
  if (only === undefined) return null;
  const waiting = stopped.reduce((sum, queue) => sum + queue.waiting, 0);
  const isCapped = stopped.some(queue => queue.isCapped);
  const runs = waiting === 1 ? '1 run waits' : `${numberText(waiting)}${isCapped ? '+' : ''} runs wait`;
  if (stopped.length > 1)
    return (
      <Warning title={`${stopped.length} queues are stopped, and ${runs} in them`}>
        Resume those that need not be.
      </Warning>
    );
  const isPaused = only.pausedAt !== null;
  return (
    <Warning
      title={`${only.name} is ${isPaused ? 'paused' : 'limited to 0 runs at once'}, and ${runs} in it`}
      help={
        isPaused ? (
          <Resume view={view} queue={only} />
        ) : (
          <a class="button" href={view.link(`/queues/${encodeURIComponent(only.name)}`)}>
            Open
          </a>
        )
      }
    >
      {isPaused ? only.pauseReason : 'Raise its concurrency to let them start.'}
    </Warning>
  );
}

function QueueTable({ view, queues }: { readonly view: View; readonly queues: readonly QueueLoad[] }) {
  return (
    <Sheet flush>
      <table class="stacked">
        <thead>
          <tr>
            <th>Queue</th>
            <th>State</th>
            <th class="n">Waiting</th>
            <th class="n">Running</th>
            <th class="n">Later</th>
            <th>Limits</th>
            <th>
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {queues.map(queue => (
            <QueueRow view={view} queue={queue} />
          ))}
        </tbody>
      </table>
    </Sheet>
  );
}

function QueueRow({ view, queue }: { readonly view: View; readonly queue: QueueLoad }) {
  const { name, waiting, running, later, blocked, oldestAt, concurrency, held } = queue;
  const list = (status: string) => view.link('/runs', { queue: name, status });
  const changed = overrideLines(view, queue);
  return (
    <tr>
      <td class="head">
        <QueueLink view={view} name={name} />
      </td>
      <td data-label="State">
        <QueuePill verdict={queueState(queue, view.now)} />
        <span class="sub note">
          <StateNote view={view} queue={queue} />
        </span>
      </td>
      <td class="n" data-label="Waiting">
        {waiting === 0 ? (
          <span class="faint">0</span>
        ) : (
          <a href={list('queued,failed')}>{counted(queue, waiting)}</a>
        )}
        <span class="sub">
          {oldestAt === null ? null : `oldest ${waitText(oldestAt, view.now)}`}
          {blocked === 0 ? null : ` +${numberText(blocked, MAX_COUNTED)} blocked`}
        </span>
      </td>
      <td class="n" data-label="Running">
        {running === 0 ? (
          <span class="faint">0</span>
        ) : (
          <a href={list('running')}>{counted(queue, running)}</a>
        )}
        {concurrency === null ? null : (
          <span class="sub">{`${numberText(held)} of ${numberText(concurrency)} slots`}</span>
        )}
      </td>
      <td class="n" data-label="Later">
        {later === 0 ? <span class="faint">0</span> : counted(queue, later)}
      </td>
      <td data-label="Limits">
        {limitWords(queue) || <span class="faint">none</span>}
        {changed.map(line => (
          <span class="sub note">{line}</span>
        ))}
        {queue.inCode !== null && changed.length === 0 ? <span class="sub">in code</span> : null}
      </td>
      <td class="n" data-label="">
        {isStopped(queue) ? <Resume view={view} queue={queue} /> : null}
      </td>
    </tr>
  );
}
