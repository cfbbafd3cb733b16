// The lists of the page Now: what comes, what runs, and which schedules need attention.

import type { RunningRun, TimedDefinition, TroubledDefinition } from '../../answers/now/figures.js';
import { formatSpan } from '../../model/duration.js';
import { includesRole } from '../../model/operator.js';
import { lineOfParts } from '../../model/run/errors/root-cause.js';
import { MAX_COUNTED } from '../../model/run/match/run-match.js';
import { Sheet, Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import { clockTime, longTime, numberText, placeOf, relativeText } from '../layout/text.js';
import type { View } from '../view.js';
import { plainSchedule } from '../words/schedule-words.js';
import type { NowContent } from './read-now.js';

/** Asks first, with the count. */
export const RETRY_ALL = '/runs/retry-all';

export function ComingTable({
  view,
  coming,
}: {
  readonly view: View;
  readonly coming: NowContent['coming'];
}) {
  return (
    <Sheet flush>
      <table class="coming">
        <thead class="unseen">
          <tr>
            <th>When</th>
            <th>Schedule</th>
          </tr>
        </thead>
        <tbody>
          {coming.map(({ at, first, count }, index) => (
            <>
              {isHourOver(view, coming, index) ? (
                <tr class="hour-over">
                  <td colspan={2}>after an hour</td>
                </tr>
              ) : null}
              <tr>
                <td class="nowrap">
                  <time datetime={at.toISOString()} title={`${longTime(at, 'UTC')} UTC`}>
                    {whenText(view, at)}
                  </time>
                  <span class="sub">{at <= view.now ? 'due' : relativeText(at, view.now)}</span>
                </td>
                <td>
                  <DefinitionLink view={view} name={count === 1 ? first.name : first.job} isJob={count > 1} />
                  {count > 1 ? <span class="muted"> × {numberText(count)}</span> : null}
                  <span class="sub">{timingText(view, first)}</span>
                </td>
              </tr>
            </>
          ))}
        </tbody>
      </table>
    </Sheet>
  );
}

const HOUR_MS = 3_600_000;

/** The first line of what comes after an hour, if anything comes within it. */
function isHourOver({ now }: View, coming: NowContent['coming'], index: number): boolean {
  const isLater = (place: number) => (coming[place]?.at.getTime() ?? 0) >= now.getTime() + HOUR_MS;
  return index > 0 && isLater(index) && !isLater(index - 1);
}

const DAY_MS = 86_400_000;

/** The clock within a day, the weekday within a week, otherwise the day. */
function whenText({ zone, now }: View, at: Date): string {
  const clock = clockTime(at, zone);
  const ms = at.getTime() - now.getTime();
  if (ms < DAY_MS) return clock;
  const [weekday, day, month] = longTime(at, zone).split(/[ ,]+/);
  return ms < 6 * DAY_MS ? `${weekday} ${clock}` : `${day} ${month}`;
}

/** With the schedule's own place where its hours are not the reader's. */
function timingText({ zone }: View, definition: TimedDefinition): string {
  const words = plainSchedule(definition);
  const { cron, anchor, timezone } = definition;
  const isLocal = anchor !== null || (cron !== null && !words.startsWith('Every'));
  return !isLocal || timezone === zone ? words : `${words} · ${placeOf(timezone)}`;
}

function DefinitionLink({
  view,
  name,
  isJob = false,
}: {
  readonly view: View;
  readonly name: string;
  readonly isJob?: boolean;
}) {
  if (!view.pages.has('/schedules')) return <>{name}</>;
  const href = isJob
    ? view.link('/schedules', { job: name })
    : view.link(`/schedules/${encodeURIComponent(name)}`);
  return <a href={href}>{name}</a>;
}

export function RunningTable({ view, runs }: { readonly view: View; readonly runs: readonly RunningRun[] }) {
  return (
    <Sheet flush>
      <table>
        <thead>
          <tr>
            <th>Run</th>
            <th>Progress</th>
            <th class="n">For</th>
            <th class="wide">Worker</th>
          </tr>
        </thead>
        <tbody>
          {runs.map(run => (
            <tr>
              <td>
                {view.pages.has('/runs') ? <a href={view.link(`/runs/${run.id}`)}>{run.job}</a> : run.job}
                <span class="sub">
                  {run.id}
                  {run.attempts > 1 ? ` · attempt ${run.attempts}` : ''}
                  {run.definition === null || run.definition === run.job ? '' : ` · ${run.definition}`}
                </span>
              </td>
              <td class="grows">
                <Progress run={run} />
              </td>
              <td class="n" data-since={run.startedAt?.getTime()}>
                {run.startedAt === null
                  ? '–'
                  : formatSpan(Math.max(0, view.now.getTime() - run.startedAt.getTime()))}
              </td>
              <td class="wide muted">
                {run.worker ?? '–'}
                {run.isStuck ? <span class="sub bad">lease expired</span> : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Sheet>
  );
}

function Progress({ run: { progress, job, id } }: { readonly run: RunningRun }) {
  if (progress === null) return <span class="faint">not reported</span>;
  const percent = Math.round(Math.max(0, Math.min(1, progress.fraction)) * 100);
  return (
    <>
      <progress max="100" value={`${percent}`} aria-label={`progress of ${job} ${id}`}>
        {percent}%
      </progress>
      <span class="sub">
        {percent}%{progress.stage === null ? '' : ` · ${progress.stage}`}
      </span>
    </>
  );
}

export function TroubledTable({
  view,
  troubled,
}: {
  readonly view: View;
  readonly troubled: readonly TroubledDefinition[];
}) {
  return (
    <Sheet flush>
      <table class="troubled">
        <thead>
          <tr>
            <th>Schedule</th>
            <th>What is wrong</th>
            <th class="wide">Next</th>
          </tr>
        </thead>
        <tbody>
          {troubled.map(definition => (
            <tr>
              <td>
                {definition.together === 1 ? (
                  <>
                    <DefinitionLink view={view} name={definition.name} />
                    <span class="sub">{timingText(view, definition)}</span>
                  </>
                ) : (
                  <PausedTogether view={view} definition={definition} />
                )}
              </td>
              <td>
                <Trouble view={view} definition={definition} />
              </td>
              <td class="wide nowrap">
                {definition.pausedAt === null && definition.brokenReason === null ? (
                  <Time view={view} at={definition.nextAt} relative />
                ) : (
                  <span class="faint">–</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Sheet>
  );
}

/** One row for what one act has paused. */
function PausedTogether({
  view,
  definition: { name, together },
}: {
  readonly view: View;
  readonly definition: TroubledDefinition;
}) {
  return (
    <>
      <a href={view.link('/schedules', { state: 'paused' })}>{numberText(together)} schedules</a>
      <span class="sub">
        {name} and {numberText(together - 1)} more
      </span>
    </>
  );
}

function Trouble({ view, definition }: { readonly view: View; readonly definition: TroubledDefinition }) {
  const { brokenReason, dead, pausedAt, pauseReason, overdueMs } = definition;
  return (
    <>
      {brokenReason === null ? null : (
        <span class="line">
          <span class="pill dead">cannot be evaluated</span>
          <span class="sub">{brokenReason}</span>
        </span>
      )}
      {dead === 0 ? null : <DeadRuns view={view} definition={definition} />}
      {overdueMs > 0 && brokenReason === null && dead === 0 ? (
        <span class="line">
          <span class="pill retry">overdue by {formatSpan(overdueMs)}</span>
        </span>
      ) : null}
      {pausedAt === null ? null : (
        <span class="line">
          <span class="pill skip">paused{definition.together === 1 ? '' : ' together'}</span>
          <span class="sub">
            <Time view={view} at={pausedAt} relative />
            {pauseReason === null ? '' : `: ${pauseReason}`}
          </span>
        </span>
      )}
    </>
  );
}

function DeadRuns({
  view,
  definition: { name, dead, lastDeadAt, lastDeadId, lastError },
}: {
  readonly view: View;
  readonly definition: TroubledDefinition;
}) {
  const mayRetry = includesRole(view.user.role, 'operate') && view.pages.has(RETRY_ALL);
  return (
    <span class="line">
      <span class="pill dead">
        {dead === 1
          ? '1 dead run'
          : `${numberText(dead)}${view.frame.dead > MAX_COUNTED ? '+' : ''} dead runs`}
      </span>
      <span class="sub">
        {lastError === null ? null : <code>{plainLine(lineOfParts(lastError), 300)}</code>}{' '}
        <Time view={view} at={lastDeadAt} relative />
      </span>
      <span class="actions">
        {lastDeadId !== null && view.pages.has('/runs') ? (
          <a href={view.link(`/runs/${lastDeadId}`)}>Open the last one</a>
        ) : null}
        {mayRetry ? (
          <a href={view.link(RETRY_ALL, { status: 'dead', definition: name, from: '24h' })}>
            Retry {dead === 1 ? 'it' : 'all'} …
          </a>
        ) : null}
      </span>
    </span>
  );
}
