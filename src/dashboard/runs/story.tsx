// The life of a run as a list: each wait and attempt with its time, its span, and what happened in it. The
// words of the picture above it.

import type { RunEffect } from '../../answers/runs/lists.js';
import type { ReadRun } from '../../answers/runs/read-run.js';
import { formatSpan } from '../../model/duration.js';
import { occurrencesText } from '../../model/planning/plan-occurrences.js';
import type { AttemptLog } from '../../model/run/log/attempt-log.js';
import { type AttemptOutcome, cutLife, type Phase } from '../../model/run/run-life.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { waitWords } from '../../model/run/run-wait.js';
import { isFinished } from '../../model/run/states.js';
import { Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import { spanText } from '../layout/text.js';
import type { View } from '../view.js';
import { AttemptLogView, placeLogs } from './attempt-log.js';
import { ErrorView } from './error-view.js';
import { STATE_WORDS } from './filter-words.js';

const OUTCOMES: Readonly<Record<AttemptOutcome, string>> = {
  running: 'is running',
  succeeded: 'succeeded',
  failed: 'failed',
  lost: 'was lost: its lease expired',
  released: 'was given back by its worker',
  waiting: 'ended to wait',
  cancelled: 'was cancelled',
  skipped: 'was not executed',
};
/** More phases than this are folded in the middle. */
const MAX_SHOWN = 24;

export function Story({ view, read }: { readonly view: View; readonly read: ReadRun }) {
  const { run, life, effects } = read;
  const logs = placeLogs(read.logs ?? [], life.phases);
  const { first, last, hidden } = cutLife(life.phases, MAX_SHOWN);
  const middle = hidden === 0 ? [] : life.phases.slice(first.length, life.phases.length - last.length);
  const entries = (phases: readonly Phase[]) =>
    phases.map(phase => <Entry view={view} read={read} phase={phase} logs={logs.of(phase)} />);
  return (
    <ol class="story">
      <li class="s-start">
        <When view={view} at={life.from} />
        <div>
          <p>{createdText(run)}</p>
        </div>
      </li>
      {entries(first)}
      {middle.length === 0 ? null : (
        <li class="s-gap">
          <span />
          <details>
            <summary>{middle.filter(phase => phase.kind === 'attempt').length} more attempts</summary>
            <ol class="story">{entries(middle)}</ol>
          </details>
        </li>
      )}
      {entries(last)}
      {outside(effects, life.phases).length === 0 ? null : (
        <li class="s-gap">
          <span />
          <Effects view={view} effects={outside(effects, life.phases)} from={null} />
        </li>
      )}
      {logs.others.length === 0 && logs.leftOut === 0 ? null : (
        <li class="s-gap">
          <span />
          <div>
            {logs.others.map(log => (
              <>
                <p class="muted">Attempt {log.attempt}</p>
                <AttemptLogView log={log} from={null} />
              </>
            ))}
            {logs.leftOut === 0 ? null : (
              <p class="muted">
                {logs.leftOut} {logs.leftOut === 1 ? 'log is' : 'logs are'} too long for a page: tock show{' '}
                {run.id} --log
              </p>
            )}
          </div>
        </li>
      )}
      {run.cancelRequestedAt === null ? null : (
        <li class="s-cancel">
          <When view={view} at={run.cancelRequestedAt.getTime()} />
          <div>
            <p>It was asked to stop</p>
          </div>
        </li>
      )}
      {isFinished(run.status) && run.finishedAt !== null ? (
        <li class={`s-end s-${run.status}`}>
          <When view={view} at={run.finishedAt.getTime()} />
          <div>
            <p>
              <b>{endText(run)}</b>{' '}
              <span class="muted">{formatSpan(life.to - life.from)} after it was created</span>
            </p>
          </div>
        </li>
      ) : null}
    </ol>
  );
}

function When({ view, at }: { readonly view: View; readonly at: number }) {
  return <Time view={view} at={new Date(at)} />;
}

function createdText({ trigger, scheduledFor, occurrenceCount, generation }: RunRecord): string {
  const by = {
    cron: 'Made by its schedule',
    manual: 'Enqueued by hand',
    api: 'Enqueued by the app',
    chain: 'Made because another run had ended',
    backfill: 'Made by a backfill',
    exec: 'Executed by tock exec',
  }[trigger];
  const more = [
    scheduledFor !== null && occurrenceCount > 1 ? `stands for ${occurrencesText(occurrenceCount)}` : '',
    generation > 1 ? `retried by hand ${generation === 2 ? 'once' : `${generation - 1} times`} since` : '',
  ].filter(text => text !== '');
  return [by, ...more].join('; ');
}

const endText = ({ status }: RunRecord) => {
  const word = STATE_WORDS[status];
  return word.charAt(0).toUpperCase() + word.slice(1);
};

const lengthText = (ms: number) => (ms < 60_000 ? spanText(ms) : formatSpan(ms));

interface EntryProps {
  readonly view: View;
  readonly read: ReadRun;
  readonly phase: Phase;
  readonly logs: readonly AttemptLog[];
}

function Entry({ view, read, phase, logs }: EntryProps) {
  const { run, effects } = read;
  const { kind, from, to, outcome, isOpen } = phase;
  if (kind !== 'attempt')
    return (
      <li class={`s-gap s-${kind}`}>
        <span />
        <p class="muted">
          {gapText(read, phase)}
          {kind === 'lost' ? null : isOpen && to > view.now.getTime() ? (
            <>
              {' '}
              at <When view={view} at={to} />
            </>
          ) : (
            ` · ${lengthText(to - from)}`
          )}
        </p>
      </li>
    );
  const error = phase.error === null ? undefined : run.errors[phase.error];
  const deploy = error === undefined ? run.deploy : (error.deploy ?? null);
  const own = effects.filter(effect => isWithin(effect, phase));
  return (
    <li class={`s-attempt s-${outcome ?? 'failed'}`}>
      <When view={view} at={from} />
      <div>
        <p>
          <b>
            Attempt {phase.attempt} {OUTCOMES[outcome ?? 'failed']}
          </b>{' '}
          <span class="muted">
            {outcome === 'released'
              ? 'when is not on record'
              : outcome === 'running'
                ? `for ${lengthText(to - from)}`
                : `after ${lengthText(to - from)}`}
            {phase.worker === null ? '' : ` on ${plainLine(phase.worker, 120)}`}
            {deploy === null ? '' : `, deploy ${plainLine(deploy, 100)}`}
            {typeof error?.batch === 'number' ? `, in a batch of ${error.batch}` : ''}
          </span>
        </p>
        {own.length === 0 ? null : <Effects view={view} effects={own} from={from} />}
        {error === undefined ? null : <ErrorView error={error} />}
        {logs.map(log => (
          <AttemptLogView log={log} from={from} isOpen={outcome === 'running'} />
        ))}
      </div>
    </li>
  );
}

function gapText({ run, now }: ReadRun, { kind, attempt, isOpen, wait }: Phase): string {
  const isAhead = isOpen && kind !== 'wait';
  switch (kind) {
    case 'delay':
      return isAhead ? 'Due' : 'Not due yet';
    case 'asleep':
      if (wait?.kind === 'event' || wait?.kind === 'runs' || wait?.kind === 'group')
        return `${isOpen ? 'Waits' : 'Waited'} for ${plainLine(waitWords(wait), 200)}${isOpen && wait.until !== null ? ', at the latest' : ''}`;
      return `${isAhead ? 'Asleep' : 'Slept'}: ${plainLine(wait === null ? '' : waitWords(wait), 200)}${isAhead ? '; it goes on' : ''}`;
    case 'backoff':
      return isAhead ? `Attempt ${attempt} is due` : `Until attempt ${attempt} was due`;
    case 'wait': {
      const what = run.concurrencyKeys === null ? 'a worker' : 'a worker and a slot';
      return isOpen ? `Waiting for ${now.waitsFor ?? what}` : `Waited for ${what}`;
    }
    default:
      return `Attempts up to ${attempt} are no longer on record`;
  }
}

const isWithin = (effect: RunEffect, { kind, from, to }: Phase) =>
  kind === 'attempt' && effect.at.getTime() >= from && effect.at.getTime() <= to;

/** Effects that fall into no attempt, as those of attempts of which only the end is known. */
const outside = (effects: readonly RunEffect[], phases: readonly Phase[]) =>
  effects.filter(effect => !phases.some(phase => isWithin(effect, phase)));

function ChildLink({ view, id }: { readonly view: View; readonly id: string }) {
  return (
    <>
      {' '}
      is{' '}
      <a class="mono" href={view.link(`/runs/${id}`)}>
        run {id}
      </a>
    </>
  );
}

function Effects({
  view,
  effects,
  from,
}: {
  readonly view: View;
  readonly effects: readonly RunEffect[];
  readonly from: number | null;
}) {
  return (
    <ul class="effects">
      {effects.map(({ kind, name, at, result }) => (
        <li>
          <span class="faint">
            {from === null ? <When view={view} at={at.getTime()} /> : `+${spanText(at.getTime() - from)}`}
          </span>{' '}
          {kind} <code>{plainLine(name, 160)}</code>
          {kind === 'child' ? (
            <ChildLink view={view} id={(result ?? '').replaceAll('"', '')} />
          ) : result === null || !view.user.seesPayloads ? null : (
            <details>
              <summary>result</summary>
              <pre>{result}</pre>
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}
