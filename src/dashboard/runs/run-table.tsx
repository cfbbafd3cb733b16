// A list of runs, a row each.

import { shortSkipWords } from '../../answers/now/skip-words.js';
import type { ListedRun } from '../../answers/runs/lists.js';
import { slotText } from '../../model/explain/slot.js';
import { isDefaultQueue } from '../../model/planning/services.js';
import { messageWithCause } from '../../model/run/errors/root-cause.js';
import { isNever } from '../../model/run/run-wait.js';
import { StatusPill, Tags, Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import { spanText } from '../layout/text.js';
import type { View } from '../view.js';

export function RunTable({ view, runs }: { readonly view: View; readonly runs: readonly ListedRun[] }) {
  return (
    <div class="sheet flush">
      <table class="runs">
        <thead>
          <tr>
            <th>Run</th>
            <th>Job</th>
            <th>State</th>
            <th>When</th>
            <th class="n">Took</th>
            <th>Error or reason</th>
          </tr>
        </thead>
        <tbody>
          {runs.map(run => (
            <Row view={view} run={run} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ view, run }: { readonly view: View; readonly run: ListedRun }) {
  return (
    <tr id={`run-${run.id}`}>
      <td class="c-id">
        <a class="mono" href={view.link(`/runs/${run.id}`)}>
          {run.id}
        </a>
      </td>
      <td class="c-job">
        <span class="name">{plainLine(run.definition ?? run.job, 120)}</span>
        <Sub view={view} run={run} />
      </td>
      <td class="c-state">
        <StatusPill status={run.status} />
        {run.status === 'running' && run.fraction !== null ? (
          <progress max="100" value={Math.floor(run.fraction * 100)} aria-label="progress" />
        ) : (
          <span class="sub">{attemptsText(run)}</span>
        )}
      </td>
      <td class="c-when">
        <When view={view} run={run} />
      </td>
      <td class="c-took n" data-since={run.status === 'running' ? run.startedAt?.getTime() : undefined}>
        {tookText(run, view.now)}
      </td>
      <td class="c-why">
        <Why run={run} />
      </td>
    </tr>
  );
}

function Sub({ view, run }: { readonly view: View; readonly run: ListedRun }) {
  const parts = [
    run.definition !== null && run.definition !== run.job ? run.job : '',
    run.key ?? '',
    isDefaultQueue(run.queue) ? '' : `queue ${run.queue}`,
  ].filter(part => part !== '');
  return (
    <>
      {parts.length === 0 ? null : <span class="sub">{plainLine(parts.join(' · '), 140)}</span>}
      <Tags view={view} tags={run.tags} />
    </>
  );
}

function attemptsText({ attempts, maxAttempts, status }: ListedRun): string {
  if (attempts === 0 || (attempts === 1 && (status === 'succeeded' || status === 'skipped'))) return '';
  return `attempt ${attempts} of ${maxAttempts}`;
}

function When({ view, run }: { readonly view: View; readonly run: ListedRun }) {
  const { status, runAt, startedAt, finishedAt } = run;
  if (finishedAt !== null) return <Time view={view} at={finishedAt} relative />;
  if (status === 'running')
    return (
      <>
        since <Time view={view} at={startedAt} relative />
      </>
    );
  if (isNever(runAt)) return <>waits</>;
  return (
    <>
      due <Time view={view} at={runAt} relative />
    </>
  );
}

/** How long its last attempt took, or has taken. */
export function tookText(
  { startedAt, finishedAt, status }: Pick<ListedRun, 'startedAt' | 'finishedAt' | 'status'>,
  now: Date,
): string {
  if (startedAt === null || (finishedAt === null && status !== 'running')) return '';
  return spanText(Math.max((finishedAt ?? now).getTime() - startedAt.getTime(), 0));
}

function Why({ run }: { readonly run: ListedRun }) {
  const { status, skipReason, blockedOn, errorName, errorMessage, errorCause } = run;
  if (status === 'skipped') return <span class="muted">{plainLine(shortSkipWords(skipReason), 160)}</span>;
  if (status === 'cancelled' && skipReason !== null)
    return <span class="muted">{plainLine(skipReason, 160)}</span>;
  if (run.cancelRequestedAt !== null && status === 'running') return <span class="muted">asked to stop</span>;
  if (blockedOn !== null)
    return <span class="muted">waits for {plainLine(slotText(blockedOn, run), 120)}</span>;
  if (errorMessage === null || status === 'succeeded') return null;
  const text = plainLine(messageWithCause({ message: errorMessage, cause: errorCause }), 220);
  return (
    <span class="error-line" title={text}>
      <b>{plainLine(errorName ?? 'Error', 60)}</b> {text}
    </span>
  );
}
