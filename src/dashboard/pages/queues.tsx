// Queues: what waits where and since when, their limits and pauses, and who blocks whom.
import { type QueueVerdict, queueState, rateText } from '../../model/explain/queue-state.js';
import { SUSPECTS } from '../../model/run/limits.js';
import { checkName } from '../../model/names.js';
import { type BlockingKey, MAX_BLOCKED, MAX_COUNTED, type QueueLoad, readBlockingKeys, readQueueLoad } from '../../store/reads/queue-load.js';
import { Page } from '../layout/page.js';
import { ActionForm, Empty, Sheet, Time } from '../layout/parts.js';
import { numberText, relativeText, spanText } from '../layout/text.js';
import type { App, View } from '../view.js';
import { Holders, QueueLink, runName, Warning } from './operate-parts.js';

const PAGE_SIZE = 100;

export function addQueuesPage(app: App): void {
  app.get('/queues', async c => {
    const view = c.get('view');
    const { name, after } = c.req.query();
    if (name) return c.redirect(view.link(`/queues/${encodeURIComponent(checkName(name, 'queue', 'TOCK_BAD_OPTION'))}`), 303);
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
        {queues.length === 0 ? <NoQueues isFirst={start === null} /> : <QueueTable view={view} queues={queues} />}
        <p class="pager">
          {start === null ? null : <a href={view.link('/queues')}>First page</a>}
          {found.length > PAGE_SIZE ? <a href={view.link('/queues', { after: queues.at(-1)?.name })}>More queues</a> : null}
        </p>
        <h2>
          Who blocks whom <small>runs that wait for a place under a limit of their job or definition</small>
        </h2>
        <BlockingKeys view={view} keys={keys} />
        <h2>Another queue</h2>
        <form method="get" action={view.link('/queues')} class="fields">
          <label>
            <span>Name</span>
            <input name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._:@\-]*" maxlength={200} placeholder="reports" />
          </label>
          <button>Open</button>
        </form>
        <p class="faint">A queue exists as soon as a run or a limit names it. Open one to pause it or to limit it before it has runs.</p>
      </Page>,
    );
  });
}

function NoQueues({ isFirst }: { readonly isFirst: boolean }) {
  if (!isFirst) return <Empty title="No more queues" />;
  return (
    <Empty title="No queue has runs, limits or a pause">
      <p>
        Runs are in the queue <code>default</code>, unless their job or the call that enqueues them names another one:
      </p>
      <pre>
        <code>defineJob({'{'} name: 'weekly-report', queue: 'reports', … {'}'})</code>
      </pre>
    </Empty>
  );
}

/** Of queues that an operator has stopped, and that hold up runs. */
function PausedWarning({ view, queues }: { readonly view: View; readonly queues: readonly QueueLoad[] }) {
  const stopped = queues.filter(queue => ['paused', 'shut'].includes(queueState(queue, view.now).state) && queue.waiting > 0);
  const [only] = stopped;
  if (only === undefined) return null;
  const waiting = stopped.reduce((sum, queue) => sum + queue.waiting, 0);
  const runs = waiting === 1 ? '1 run waits' : `${numberText(waiting)}${stopped.some(queue => queue.isCapped) ? '+' : ''} runs wait`;
  if (stopped.length > 1)
    return <Warning title={`${stopped.length} queues are stopped, and ${runs} in them`}>Resume those that need not be.</Warning>;
  const isPaused = only.pausedAt !== null;
  return (
    <Warning
      title={`${only.name} is ${isPaused ? 'paused' : 'limited to 0 runs at once'}, and ${runs} in it`}
      help={isPaused ? <Resume view={view} queue={only} /> : <a class="button" href={view.link(`/queues/${encodeURIComponent(only.name)}`)}>Open</a>}
    >
      {isPaused ? only.pauseReason : 'Raise its concurrency to let them start.'}
    </Warning>
  );
}

export function Resume({ view, queue, main }: { readonly view: View; readonly queue: Pick<QueueLoad, 'name'>; readonly main?: boolean }) {
  return (
    <ActionForm
      view={view}
      action={`/queues/${encodeURIComponent(queue.name)}/resume`}
      label="Resume"
      needs="operate"
      {...(main === undefined ? {} : { main })}
    />
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
  return (
    <tr>
      <td class="head">
        <QueueLink view={view} name={name} />
      </td>
      <td data-label="State">
        <QueuePill verdict={queueState(queue, view.now)} />
        <span class="sub">
          <StateNote view={view} queue={queue} />
        </span>
      </td>
      <td class="n" data-label="Waiting">
        {waiting === 0 ? <span class="faint">0</span> : <a href={list('queued,failed')}>{counted(queue, waiting)}</a>}
        <span class="sub">
          {oldestAt === null ? null : `oldest ${waitText(oldestAt, view.now)}`}
          {blocked === 0 ? null : ` +${numberText(blocked, MAX_COUNTED)} blocked`}
        </span>
      </td>
      <td class="n" data-label="Running">
        {running === 0 ? <span class="faint">0</span> : <a href={list('running')}>{counted(queue, running)}</a>}
        {concurrency === null ? null : <span class="sub">{`${numberText(held)} of ${numberText(concurrency)} places`}</span>}
      </td>
      <td class="n" data-label="Later">
        {later === 0 ? <span class="faint">0</span> : counted(queue, later)}
      </td>
      <td data-label="Limits">{limitWords(queue) || <span class="faint">none</span>}</td>
      <td class="n" data-label="">
        {queue.pausedAt === null ? null : <Resume view={view} queue={queue} />}
      </td>
    </tr>
  );
}

/** A lower bound ends with a plus sign. */
export const counted = ({ isCapped }: Pick<QueueLoad, 'isCapped'>, count: number) => `${numberText(count)}${isCapped ? '+' : ''}`;

export const waitText = (since: Date, now: Date) => spanText(Math.max(0, Math.round((now.getTime() - since.getTime()) / 1000) * 1000));

/** `3 at once · 100/1m · 23:00-06:00 Europe/Berlin`; empty if there are none. */
export function limitWords({ concurrency, rate, window, timezone }: QueueLoad): string {
  return [
    concurrency === null ? null : `${numberText(concurrency)} at once`,
    rate === null ? null : rateText(rate),
    window === null ? null : `${window} ${timezone}`,
  ]
    .filter(part => part !== null)
    .join(' · ');
}

const PILLS: Readonly<Record<QueueVerdict['state'], readonly [look: string, word: string]>> = {
  open: ['ok', 'open'],
  paused: ['cancel', 'paused'],
  shut: ['dead', 'none may start'],
  closed: ['skip', 'outside its window'],
  full: ['run', 'full'],
  'held-back': ['wait', 'held back by its rate'],
};

export function QueuePill({ verdict: { state } }: { readonly verdict: QueueVerdict }) {
  const [look, word] = PILLS[state];
  return <span class={`pill ${look}`}>{word}</span>;
}

/** Why its runs do not start, in a few words; nothing for an open one. */
export function StateNote({ view, queue }: { readonly view: View; readonly queue: QueueLoad }) {
  const { state, until } = queueState(queue, view.now);
  if (state === 'paused')
    return (
      <>
        <Time view={view} at={queue.pausedAt} relative />
        {queue.pauseReason === null ? null : `: ${queue.pauseReason}`}
      </>
    );
  if (state === 'closed' && until !== null) return <>opens {relativeText(until, view.now)}</>;
  if (state === 'held-back' && until !== null) return <>next start {relativeText(until, view.now)}</>;
  if (state === 'shut') return <>its concurrency is 0</>;
  return null;
}

/** Limits under which runs wait, with those that hold the places. */
export function BlockingKeys({ view, keys }: { readonly view: View; readonly keys: readonly BlockingKey[] }) {
  if (keys.length === 0)
    return (
      <Empty title="Nobody blocks anybody">
        <p>No run waits for a place under a limit of its job or definition.</p>
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
                  {key.limit === null ? null : `${numberText(key.held)} of ${numberText(key.limit)} places held`}
                </span>
              </td>
              <td data-label="Held by">
                {key.held === 0 ? (
                  <span class="muted">nobody: the next claim or tick lets one start</span>
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
                <a href={view.link(`/runs/${encodeURIComponent(key.first.id)}`)}>run {key.first.id}</a>{' '}
                <span class="muted">of {runName(key.first)}</span>
                <span class="sub">
                  in <QueueLink view={view} name={key.first.queue} />
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {keys.some(key => key.waiting >= MAX_BLOCKED) ? <p class="faint padded">Counts end at {MAX_BLOCKED}.</p> : null}
    </Sheet>
  );
}

/** What a concurrency key limits. */
function keyWords({ key, first }: BlockingKey): string {
  const own = `job:${first.job}`;
  if (key.startsWith('definition:')) return `${first.definition ?? 'its definition'}, one run after the other`;
  if (key === SUSPECTS.key) return 'Runs that get a process of their own';
  if (key === own) return `Job ${first.job}`;
  if (key.startsWith(`${own}:`)) return `Job ${first.job} for ${key.slice(own.length + 1)}`;
  return key;
}
