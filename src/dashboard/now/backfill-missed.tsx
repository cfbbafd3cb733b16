// What an outage has left out: which schedules, how many of each, and the backfill of those that are chosen.

import { type AllMissed, isWanted, type Missed, readMissed } from '../../answers/now/missed.js';
import { TockError } from '../../model/errors.js';
import { includesRole } from '../../model/operator.js';
import { catchupSentence } from '../../model/planning/policy-words.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { MAX_OCCURRENCES } from '../../model/schedule/occurrences.js';
import { shellWord } from '../../model/shell-word.js';
import { flash } from '../flash.js';
import { Page } from '../layout/page.js';
import { Empty, Sheet, Time } from '../layout/parts.js';
import { numberText } from '../layout/text.js';
import { LEAD, MAX_RUNS } from '../pages/schedule/backfill.js';
import type { App, View } from '../view.js';
import { plainSchedule } from '../words/schedule-words.js';
import { BACKFILL_PATH } from './missed-line.js';

/** If a schedule has more spans than this, the page names no commands for it. */
const MAX_COMMANDS = 3;
/** A browser waits no longer than this; what is left then, the next press does. */
const BUDGET_MS = 20_000;

/** @param onDone called once something was backfilled */
export function addMissedBackfill(app: App, onDone: () => void): void {
  app.get(BACKFILL_PATH, async c => {
    const view = c.get('view');
    return c.html(<MissedPage view={view} all={await read(view)} problem={null} />);
  });
  app.post(BACKFILL_PATH, async c => {
    const view = c.get('view');
    const body = await c.req.parseBody({ all: true });
    const chosen = new Set([body['rows'] ?? []].flat().map(String));
    const all = await read(view);
    if (chosen.size === 0)
      return c.html(<MissedPage view={view} all={all} problem="Choose at least one of these." />, 400);
    // What is posted only chooses among what was left out.
    const offered = all.missed.filter(each => each.makes !== null && chosen.has(rowsOf(each)));
    const done = await backfillAll(view, offered);
    onDone();
    const { text, isGood } = report({ ...done, gone: chosen.size - offered.length });
    flash(c, text, isGood ? 'ok' : 'bad');
    return c.redirect(view.link(isGood ? '/' : BACKFILL_PATH), 303);
  });
}

const read = async ({ reads }: View) => await readMissed(reads, MAX_RUNS);

/** What was shown of a schedule: if more or less of it is left out by now, it is not what was chosen. */
const rowsOf = ({ rows, makes }: Missed) => [makes, ...rows.map(({ runId }) => runId)].join(' ');

interface Done {
  readonly made: number;
  readonly existing: number;
  /** Of which schedules it failed, and why. */
  readonly failures: readonly string[];
  readonly isStopped: boolean;
}

async function backfillAll({ tock }: View, missed: readonly Missed[]): Promise<Done> {
  const signal = AbortSignal.timeout(BUDGET_MS);
  const failures: string[] = [];
  let [made, existing] = [0, 0];
  for (const { definition, spans } of missed) {
    if (signal.aborted) return { made, existing, failures, isStopped: true };
    try {
      for (const { from, to } of spans) {
        const window = { from: new Date(from), to: new Date(to) };
        const result = await tock.schedules.backfill(definition.name, window);
        made += result.made;
        existing += result.existing;
      }
    } catch (error) {
      // Removed or edited meanwhile: the others are not held up.
      if (!(error instanceof TockError) || error.code === 'TOCK_DATABASE_UNREACHABLE') throw error;
      failures.push(`${definition.name}: ${error.message}`);
    }
  }
  return { made, existing, failures, isStopped: false };
}

/** @param gone chosen, but other than was shown */
function report({ made, existing, failures, isStopped, gone }: Done & { readonly gone: number }) {
  const words = [`${numberText(made)} ${made === 1 ? 'run is' : 'runs are'} queued`];
  if (existing > 0) words.push(`${numberText(existing)} had one already`);
  if (gone > 0)
    words.push(
      `${numberText(gone)} ${gone === 1 ? 'schedule was left out: it has' : 'schedules were left out: they have'} changed since`,
    );
  if (failures.length > 0)
    words.push(`${numberText(failures.length)} could not be backfilled: ${failures[0] ?? ''}`);
  if (isStopped) words.push('more are left: press again to go on');
  return { text: `${words.join('; ')}.`, isGood: failures.length === 0 && !isStopped };
}

interface MissedPageProps {
  readonly view: View;
  readonly all: AllMissed;
  readonly problem: string | null;
}

function MissedPage({ view, all: { missed, hasMore }, problem }: MissedPageProps) {
  if (missed.length === 0)
    return (
      <Page view={view} title="Nothing was left out" current="now">
        <Empty title="No outage of the last day has left anything to backfill">
          <p>
            What was left out has a run by now, or lies further back: each schedule has a backfill of its own.{' '}
            <a href={view.link('/')}>Back to Now</a>
          </p>
        </Empty>
      </Page>
    );
  const mayAct = includesRole(view.user.role, 'operate') && missed.some(({ makes }) => makes !== null);
  return (
    <Page view={view} title="Backfill what was left out" current="now" lead={LEAD}>
      <form method="post" action={view.link(BACKFILL_PATH)} class="many">
        {problem === null ? null : (
          <p class="refused" role="alert">
            {problem}
          </p>
        )}
        <Sheet flush>
          <table class="missed">
            <thead>
              <tr>
                {mayAct ? (
                  <th class="check">
                    <span class="unseen">Chosen</span>
                  </th>
                ) : null}
                <th>Schedule</th>
                <th class="n">Runs to make</th>
              </tr>
            </thead>
            <tbody>
              {missed.map(each => (
                <Row view={view} missed={each} mayAct={mayAct} />
              ))}
            </tbody>
          </table>
        </Sheet>
        {hasMore ? (
          <p class="more">These are the first; the others come once these have been backfilled.</p>
        ) : null}
        <div class="actions">
          {mayAct ? <button class="main">Backfill those that are checked</button> : null}
          <a class="button" href={view.link('/')}>
            {mayAct ? 'Leave them out' : 'Back'}
          </a>
        </div>
      </form>
    </Page>
  );
}

function Row({
  view,
  missed,
  mayAct,
}: {
  readonly view: View;
  readonly missed: Missed;
  readonly mayAct: boolean;
}) {
  const { definition, first, last } = missed;
  const { name } = definition;
  return (
    <tr>
      {mayAct ? (
        <td class="check">
          {missed.makes === null ? null : (
            <input
              type="checkbox"
              name="rows"
              value={rowsOf(missed)}
              checked={isWanted(missed)}
              aria-label={`Backfill ${name}`}
            />
          )}
        </td>
      ) : null}
      <td>
        <a href={view.link(`/schedules/${encodeURIComponent(name)}`)}>{name}</a>
        <span class="sub">
          {plainSchedule(definition)}, left out <Time view={view} at={first} />
          {first < last ? (
            <>
              {' – '}
              <Time view={view} at={last} />
            </>
          ) : null}
        </span>
        <Why view={view} missed={missed} />
        {definition.paused_at === null ? null : (
          <span class="sub">It is paused now; a backfill runs all the same.</span>
        )}
        <NotAll missed={missed} />
      </td>
      <td class="n">{missed.makes === null ? missedText(missed) : numberText(missed.makes)}</td>
    </tr>
  );
}

function Why({ view, missed: { rows, definition } }: { readonly view: View; readonly missed: Missed }) {
  const words = rows
    .filter(({ stoodForBy }) => stoodForBy === null)
    .map(({ cause, isTooLate }) => {
      if (cause === 'pause') return 'It was paused; what comes due in a pause is not caught up.';
      return isTooLate ? 'It was too late to start.' : catchupSentence(definition);
    });
  const stands = rows.map(({ stoodForBy }) => stoodForBy).filter(at => at !== null);
  return (
    <>
      {words.length === 0 ? null : <span class="sub">{[...new Set(words)].join(' ')}</span>}
      {stands.map(at => (
        <span class="sub">
          The run of <Time view={view} at={at} /> stands for them.
        </span>
      ))}
    </>
  );
}

/** Why it does not make what was left out. */
function NotAll({ missed: all }: { readonly missed: Missed }) {
  const { makes, missed, definition } = all;
  if (makes === null)
    return (
      <span class="sub">
        Beyond the {numberText(MAX_RUNS)} runs that are made at once. <Commands missed={all} />
      </span>
    );
  if (makes === missed) return null;
  if (makes > missed && missed === definition.remaining_count)
    return (
      <span class="sub">It is to make only {numberText(missed)} more, which a backfill does not heed.</span>
    );
  return <span class="sub">{missedText(all)} were left out; the schedule has changed since.</span>;
}

/** One for each span: between them lies what an operator has skipped, or what has not been left out. */
function Commands({ missed: { definition, spans, isCut } }: { readonly missed: Missed }) {
  if (isCut && spans.some(({ from, to }) => to - from > MAX_OCCURRENCES * 1000))
    return <>They may be too many for one backfill, too: backfill shorter spans.</>;
  if (spans.length > MAX_COMMANDS)
    return <>Between them lies what is not to run: backfill span by span on the page of the schedule.</>;
  return (
    <>
      {spans.map(({ from, to }) => (
        <>
          {' '}
          <code>
            tock backfill {shellWord(definition.name)} --from {utcText(from)} --to {utcText(to)}
          </code>
        </>
      ))}
    </>
  );
}

const missedText = ({ missed, isCut }: Missed) => `${numberText(missed)}${isCut ? '+' : ''}`;
