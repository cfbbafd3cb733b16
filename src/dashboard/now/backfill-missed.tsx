// What was missed in an outage: which schedules, how many of each, and the backfill of those that are chosen.

import { type Missed, readMissed } from '../../answers/now/missed.js';
import { TockError } from '../../model/errors.js';
import { includesRole } from '../../model/operator.js';
import { catchupSentence } from '../../model/planning/policy-words.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { shellWord } from '../../model/shell-word.js';
import { flash } from '../flash.js';
import { Page } from '../layout/page.js';
import { Empty, Sheet, Time } from '../layout/parts.js';
import { numberText } from '../layout/text.js';
import { LEAD, MAX_RUNS } from '../pages/schedule/backfill.js';
import type { App, View } from '../view.js';
import { plainSchedule } from '../words/schedule-words.js';
import { BACKFILL_PATH } from './missed-line.js';

/** Skipped rows of one page; the others come once these have been backfilled. */
const MAX_ROWS = 2000;
/** A browser waits no longer than this; what is left then, the next press does. */
const BUDGET_MS = 20_000;

/** @param onDone called once something was backfilled */
export function addMissedBackfill(app: App, onDone: () => void): void {
  app.get(BACKFILL_PATH, async c => {
    const view = c.get('view');
    return c.html(<MissedPage view={view} missed={await read(view)} problem={null} />);
  });
  app.post(BACKFILL_PATH, async c => {
    const view = c.get('view');
    const body = await c.req.parseBody({ all: true });
    const chosen = [body['rows'] ?? []].flat().map(String);
    const missed = await read(view);
    if (chosen.length === 0)
      return c.html(<MissedPage view={view} missed={missed} problem="Choose at least one of these." />, 400);
    // What is posted only chooses among what was missed.
    const offered = missed.filter(each => canMake(each) && chosen.includes(rowsOf(each)));
    const done = await backfillAll(view, offered);
    onDone();
    const { text, isGood } = report({ ...done, gone: new Set(chosen).size - offered.length });
    flash(c, text, isGood ? 'ok' : 'bad');
    return c.redirect(view.link(isGood ? '/' : BACKFILL_PATH), 303);
  });
}

const read = async ({ reads }: View) => await readMissed(reads, { limit: MAX_ROWS, most: MAX_RUNS });

/** What was shown of a schedule: if it has missed more or less since, it is not what was chosen. */
const rowsOf = ({ rows, makes }: Missed) => [makes, ...rows.map(({ runId }) => runId)].join(' ');

const canMake = ({ makes }: Missed) => makes > 0 && makes <= MAX_RUNS;

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
  readonly missed: readonly Missed[];
  readonly problem: string | null;
}

function MissedPage({ view, missed, problem }: MissedPageProps) {
  if (missed.length === 0)
    return (
      <Page view={view} title="Nothing was missed" current="now">
        <Empty title="No outage of the last day has left anything to backfill">
          <p>
            What was missed has a run by now, or lies further back: each schedule has a backfill of its own.{' '}
            <a href={view.link('/')}>Back to Now</a>
          </p>
        </Empty>
      </Page>
    );
  const total = missed.filter(canMake).reduce((sum, { makes }) => sum + makes, 0);
  const mayAct = includesRole(view.user.role, 'operate') && total > 0;
  const runs = `${numberText(total)} ${total === 1 ? 'run' : 'runs'}`;
  return (
    <Page view={view} title={`Backfill ${runs}?`} current="now" lead={LEAD}>
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
        {missed.reduce((sum, { rows }) => sum + rows.length, 0) < MAX_ROWS ? null : (
          <p class="more">These are the first; the others come once these have been backfilled.</p>
        )}
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
          {canMake(missed) ? (
            <input
              type="checkbox"
              name="rows"
              value={rowsOf(missed)}
              checked
              aria-label={`Backfill ${name}`}
            />
          ) : null}
        </td>
      ) : null}
      <td>
        <a href={view.link(`/schedules/${encodeURIComponent(name)}`)}>{name}</a>
        <span class="sub">
          {plainSchedule(definition)}, missed <Time view={view} at={first} />
          {first < last ? (
            <>
              {' – '}
              <Time view={view} at={last} />
            </>
          ) : null}
        </span>
        <span class="sub">{whyWords(missed)}</span>
        {definition.paused_at === null ? null : (
          <span class="sub">It is paused now; a backfill runs all the same.</span>
        )}
        <NotAll missed={missed} />
      </td>
      <td class="n">{numberText(missed.makes, MAX_RUNS)}</td>
    </tr>
  );
}

function whyWords({ rows, definition }: Missed): string {
  const words = rows.map(({ cause, isTooLate }) => {
    if (cause === 'pause') return 'It was paused; what comes due in a pause is not caught up.';
    return isTooLate ? 'It was too late to start.' : catchupSentence(definition);
  });
  return [...new Set(words)].join(' ');
}

/** Why not all that was missed is made here. */
function NotAll({ missed: { makes, missed, definition, spans } }: { readonly missed: Missed }) {
  if (makes > MAX_RUNS) {
    const [from, to] = [spans[0]?.from ?? 0, spans.at(-1)?.to ?? 0];
    return (
      <span class="sub">
        These are too many for a page:{' '}
        <code>
          tock backfill {shellWord(definition.name)} --from {utcText(from)} --to {utcText(to)}
        </code>
      </span>
    );
  }
  if (makes === missed) return null;
  return <span class="sub">{numberText(missed)} were missed; the schedule has changed since.</span>;
}
