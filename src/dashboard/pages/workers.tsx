// Workers: who executes runs, on which hosts, what each does now, and who has fallen silent.
import {
  type Orphans,
  readOrphans,
  readTicks,
  readWorkerLoad,
  type WorkerLoad,
} from '../../answers/workers.js';
import { isAsleep } from '../../model/explain/tick-state.js';
import type { LastTick } from '../../model/scheduler-view.js';
import { Page } from '../layout/page.js';
import { Empty, RunLink, Sheet, Time } from '../layout/parts.js';
import { numberText, relativeText, spanText } from '../layout/text.js';
import type { App, View } from '../view.js';
import { Ticks } from './doctor.js';
import { runName, Warning } from './operate-parts.js';

export function addWorkersPage(app: App): void {
  app.get('/workers', async c => {
    const view = c.get('view');
    const [workers, orphans, ticks] = await Promise.all([
      readWorkerLoad(view.reads),
      readOrphans(view.reads),
      readTicks(view.reads),
    ]);
    return c.html(
      <Page
        view={view}
        title="Workers"
        current="workers"
        live={5}
        lead="Each tick and each daemon is a worker while it lives. A worker that stops in order leaves this page; one that is killed stays until its runs have been taken back."
      >
        <Silent view={view} workers={workers} />
        <OrphanWarning view={view} orphans={orphans} />
        {workers.length === 0 ? (
          <NoWorkers view={view} ticks={ticks} />
        ) : (
          <>
            <WorkerFigures workers={workers} />
            <h2>Now</h2>
            <WorkerTable view={view} workers={workers} />
          </>
        )}
        <h2>
          Last ticks <small>of each host and checkout; a daemon notes one each minute</small>
        </h2>
        <Ticks view={view} ticks={ticks} />
      </Page>,
    );
  });
}

function NoWorkers({ view, ticks }: { readonly view: View; readonly ticks: readonly LastTick[] }) {
  const asleep = ticks.find(tick => isAsleep(tick, view.now));
  if (asleep?.asleepUntil)
    return (
      <Empty title="What executes runs sleeps">
        <p>
          {asleep.host} is asleep until <Time view={view} at={asleep.asleepUntil} /> (<code>--idle</code>), or
          until a Tock of the same project writes there.
        </p>
      </Empty>
    );
  return (
    <Empty title="No worker is at work">
      <p>
        If ticks come from cron, that is the usual state between two of them; the doctor shows whether they
        come. Otherwise nothing executes runs; start a daemon:
      </p>
      <pre>
        <code>tock start</code>
      </pre>
      <p>or let cron make a tick each minute:</p>
      <pre>
        <code>* * * * * cd /srv/app &amp;&amp; node dist/tick.js</code>
      </pre>
    </Empty>
  );
}

/** What it does, the worst first. */
function stateOf({ isSilent, isDraining, running }: WorkerLoad): readonly [look: string, word: string] {
  if (isSilent) return ['dead', 'silent'];
  if (isDraining) return ['retry', 'draining'];
  return running > 0 ? ['run', 'working'] : ['ok', 'idle'];
}

function Silent({ view, workers }: { readonly view: View; readonly workers: readonly WorkerLoad[] }) {
  const silent = workers.filter(({ isSilent }) => isSilent);
  const [only] = silent;
  if (only === undefined) return null;
  const held = silent.reduce((sum, { running }) => sum + running, 0);
  if (silent.length === 1)
    return (
      <Warning title={`${only.host} pid ${only.pid} was last seen ${relativeText(only.seenAt, view.now)}`}>
        It was killed, or cut off from the database, or its process is too busy to report. {fateOf(held)}
      </Warning>
    );
  return (
    <Warning title={`${silent.length} workers have not been seen for two heartbeats`}>
      They were killed, or cut off from the database, or their processes are too busy to report.{' '}
      {fateOf(held)}
    </Warning>
  );
}

/** What becomes of the runs that silent workers hold. */
function fateOf(held: number): string {
  if (held === 0) return 'No run is held up.';
  return held === 1
    ? 'The run that is held is taken back and retried when its lease expires.'
    : `The ${numberText(held)} runs that are held are taken back and retried when their leases expire.`;
}

function OrphanWarning({
  view,
  orphans: { count, until },
}: {
  readonly view: View;
  readonly orphans: Orphans;
}) {
  if (count === 0 || until === null) return null;
  const runs = count === 1 ? '1 run is' : `${numberText(count)} runs are`;
  return (
    <Warning title={`${runs} held by workers that are gone`}>
      {until > view.now
        ? `They are taken back when their leases expire, the last of them ${relativeText(until, view.now)}.`
        : 'Their leases have expired: the next tick takes them back.'}
    </Warning>
  );
}

function WorkerFigures({ workers }: { readonly workers: readonly WorkerLoad[] }) {
  const sum = (of: (worker: WorkerLoad) => number) =>
    workers.reduce((total, worker) => total + of(worker), 0);
  const hosts = new Set(workers.map(({ host }) => host)).size;
  const [running, capacity] = [sum(worker => worker.running), sum(worker => worker.capacity)];
  const silent = sum(({ isSilent }) => Number(isSilent));
  return (
    <div class="figures">
      <div>
        <span class="name">Workers</span>
        <span class="value">{numberText(workers.length)}</span>
        <small>{hosts === 1 ? 'on 1 host' : `on ${numberText(hosts)} hosts`}</small>
      </div>
      <div>
        <span class="name">Running</span>
        <span class="value">{numberText(running)}</span>
        <small>{`of ${numberText(capacity)} at once`}</small>
      </div>
      <div>
        <span class="name">Draining</span>
        <span class="value">{numberText(sum(({ isDraining }) => Number(isDraining)))}</span>
        <small>end their runs, then stop</small>
      </div>
      <div>
        <span class="name">Silent</span>
        <span class={silent > 0 ? 'value bad' : 'value'}>{numberText(silent)}</span>
        <small>missed two heartbeats</small>
      </div>
    </div>
  );
}

const KINDS: Readonly<Record<WorkerLoad['kind'], string>> = {
  tick: 'a tick',
  daemon: 'a daemon',
  library: 'a tick of an app',
  manual: 'tock run --wait',
  relay: 'a relay',
};

function WorkerTable({ view, workers }: { readonly view: View; readonly workers: readonly WorkerLoad[] }) {
  return (
    <Sheet flush>
      <table class="stacked">
        <thead>
          <tr>
            <th>Worker</th>
            <th>State</th>
            <th>Runs at once</th>
            <th>Does now</th>
            <th>Load</th>
            <th>Seen</th>
            <th>Since</th>
          </tr>
        </thead>
        <tbody>
          {workers.map(worker => (
            <WorkerRow view={view} worker={worker} />
          ))}
        </tbody>
      </table>
    </Sheet>
  );
}

function WorkerRow({ view, worker }: { readonly view: View; readonly worker: WorkerLoad }) {
  const { host, pid, kind, service, capacity, running, runs, load, seenAt, startedAt } = worker;
  const [look, word] = stateOf(worker);
  return (
    <tr>
      <td class="head">
        {host} <span class="muted">pid {pid}</span>
        <span class="sub">
          {KINDS[kind]}
          {service === '' ? null : ` of ${service}`}
        </span>
      </td>
      <td data-label="State">
        <span class={`pill ${look}`}>{word}</span>
      </td>
      <td data-label="Runs at once">
        {`${numberText(running)} of ${numberText(capacity)}`}
        <progress
          max={capacity}
          value={Math.min(running, capacity)}
          aria-label={`${running} of ${capacity} at once`}
        />
      </td>
      <td data-label="Does now">
        {runs.length === 0 ? <span class="faint">nothing</span> : null}
        <ul class="plain">
          {runs.map(run => (
            <li>
              <RunLink view={view} id={run.id}>
                {runName(run)}
              </RunLink>{' '}
              <span class="muted nowrap">
                {run.startedAt === null
                  ? null
                  : spanText(Math.max(0, view.now.getTime() - run.startedAt.getTime()))}
                {run.fraction === null
                  ? null
                  : ` · ${Math.round(Math.min(Math.max(run.fraction, 0), 1) * 100)} %`}
              </span>
            </li>
          ))}
          {running > runs.length ? <li class="muted">and {numberText(running - runs.length)} more</li> : null}
        </ul>
      </td>
      <td data-label="Load">
        <Load load={load} />
      </td>
      <td data-label="Seen">
        <Time view={view} at={seenAt} relative />
      </td>
      <td data-label="Since">
        <Time view={view} at={startedAt} relative />
      </td>
    </tr>
  );
}

const MB = 1e6;
/** From here on, what else happens in the process, such as a heartbeat, is held up so that it shows. */
const LATE_MS = 1000;

/** What its process asks of its host, since its last heartbeat but one. */
function Load({ load }: Pick<WorkerLoad, 'load'>) {
  if (load === null) return <span class="faint">not yet known</span>;
  const { cpu, memoryBytes, loopDelayMs } = load;
  return (
    <>
      <span class="nowrap">{`${(cpu * 100).toFixed(0)} % of a core`}</span>
      <span class="sub nowrap">{`${numberText(Math.round(memoryBytes / MB))} MB`}</span>
      <span
        class={`sub nowrap${loopDelayMs >= LATE_MS ? ' bad' : ''}`}
        title="By how much a timer of its process was late, at most: for so long a handler kept everything else waiting"
      >
        {`event loop ${spanText(Math.round(loopDelayMs))} late`}
      </span>
    </>
  );
}
