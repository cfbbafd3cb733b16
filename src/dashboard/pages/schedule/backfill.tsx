// Backfill of one schedule: which occurrences it would run, and then the action.

import { type OpenedSchedule, readSpan, requireSchedule } from '../../../answers/schedules/read-schedule.js';
import { TockError } from '../../../model/errors.js';
import { readAskedTime } from '../../../model/explain/asked-time.js';
import { firstInstant } from '../../../model/explain/day.js';
import { placeOfCivil } from '../../../model/explain/local-clock.js';
import { type Occurrence, type OccurrenceState, stateText } from '../../../model/occurrences/occurrence.js';
import { includesRole } from '../../../model/operator.js';
import type { Zone } from '../../../model/schedule/zone/zone.js';
import { flash } from '../../flash.js';
import { Page } from '../../layout/page.js';
import { Sheet } from '../../layout/parts.js';
import { numberText } from '../../layout/text.js';
import { MarkIcon } from '../../pictures/mark.js';
import { zoneTime } from '../../schedules/times.js';
import type { App, View } from '../../view.js';
import { addressOf } from './actions.js';
import { type Form, textOf } from './form.js';

const MAX_LISTED = 200;
/** What a request waits for. The command line has no such bound. */
export const MAX_RUNS = 5000;
const HAS_RUN: readonly OccurrenceState[] = [
  'succeeded',
  'retried',
  'running',
  'queued',
  'failed',
  'dead',
  'cancelled',
  'pruned',
];

interface Plan {
  readonly from: Date;
  readonly to: Date;
  readonly occurrences: number;
  readonly existing: number;
  /** Of those that have no run, the first ones. */
  readonly missing: readonly Occurrence[];
}

export function addBackfillPage(app: App): void {
  app.get('/schedules/:name/backfill', async c => {
    const view = c.get('view');
    const opened = await requireSchedule(view.reads, c.req.param('name'));
    const { from = '', to = '' } = c.req.query();
    if (from === '' || to === '')
      return c.html(
        <BackfillPage view={view} opened={opened} from={from} to={to} plan={null} problem={null} />,
      );
    try {
      const plan = await planOf(view, opened, from, to);
      return await c.html(
        <BackfillPage view={view} opened={opened} from={from} to={to} plan={plan} problem={null} />,
      );
    } catch (error) {
      if (!(error instanceof TockError) || error.code === 'TOCK_DATABASE_UNREACHABLE') throw error;
      return c.html(
        <BackfillPage view={view} opened={opened} from={from} to={to} plan={null} problem={error.message} />,
        400,
      );
    }
  });
  app.post('/schedules/:name/backfill', async c => {
    const view = c.get('view');
    const opened = await requireSchedule(view.reads, c.req.param('name'));
    const { name } = opened.definition;
    const form = (await c.req.parseBody({ all: true })) as Form;
    const span = spanOf(view, opened.zone, textOf(form, 'from') ?? '', textOf(form, 'to') ?? '');
    const { occurrences } = await view.tock.schedules.backfill(name, { ...span, dryRun: true });
    if (occurrences > MAX_RUNS) throw tooMany(name);
    const { made, existing } = await view.tock.schedules.backfill(name, span);
    const kept = existing === 0 ? '' : ` ${numberText(existing)} had one already.`;
    flash(c, `${numberText(made)} ${made === 1 ? 'run is' : 'runs are'} queued.${kept}`);
    return c.redirect(addressOf(view, name), 303);
  });
}

/** @throws TockError TOCK_BAD_TIME, TOCK_BAD_STATE, TOCK_FORBIDDEN */
async function planOf(view: View, opened: OpenedSchedule, from: string, to: string): Promise<Plan> {
  const { definition, zone } = opened;
  const span = spanOf(view, zone, from, to);
  const { occurrences, existing } = await view.tock.schedules.backfill(definition.name, {
    ...span,
    dryRun: true,
  });
  if (occurrences > MAX_RUNS) throw tooMany(definition.name);
  const shown = await readSpan(view.reads, opened, { from: span.from.getTime(), to: span.to.getTime() });
  const missing = shown.filter(({ state, isExpected }) => isExpected && !HAS_RUN.includes(state));
  return { ...span, occurrences, existing, missing };
}

function tooMany(name: string): TockError {
  return new TockError(
    'TOCK_BAD_TIME',
    `these are more than ${numberText(MAX_RUNS)} occurrences; choose a shorter span, or use the command line: tock backfill ${name}`,
  );
}

function spanOf(view: View, zone: Zone, from: string, to: string): { from: Date; to: Date } {
  const read = (text: string) => new Date(instantOf(zone, text, view.now.getTime()) * 1000);
  return { from: read(from), to: read(to) };
}

/** An instant, a local time of the schedule's zone, or the beginning of a local day. Epoch seconds. */
function instantOf(zone: Zone, text: string, now: number): number {
  const asked = readAskedTime(text, zone, now);
  if (asked.kind === 'instant') return asked.at;
  if (asked.kind === 'day') return firstInstant(zone, asked.day * 86_400);
  return placeOfCivil(zone, asked.civil).instants[0] ?? firstInstant(zone, asked.civil);
}

interface BackfillPageProps {
  readonly view: View;
  readonly opened: OpenedSchedule;
  readonly from: string;
  readonly to: string;
  readonly plan: Plan | null;
  readonly problem: string | null;
}

export const LEAD =
  'Makes a run for each past occurrence that has none, due now, oldest first. Those that have had a run are left alone, so it is safe to repeat. Overlap, catch-up and jitter have no part in it.';

function BackfillPage({ view, opened, from, to, plan, problem }: BackfillPageProps) {
  const { definition, zone } = opened;
  const path = `/schedules/${encodeURIComponent(definition.name)}/backfill`;
  return (
    <Page view={view} title={`Backfill ${definition.name}`} current="schedules" lead={LEAD}>
      <Sheet>
        <form method="get" action={view.link(path)} class="schedule-form">
          <label class="entry">
            From{' '}
            <input
              type="text"
              name="from"
              value={from}
              required
              placeholder="2026-11-01 or 2026-11-01T02:30"
            />
          </label>
          <label class="entry">
            Up to, not included <input type="text" name="to" value={to} required placeholder="2026-11-08" />
          </label>
          <p class="muted">In {zone.name}, or as instants such as 2026-11-01T06:30:00Z.</p>
          {problem === null ? null : (
            <p class="refused" role="alert">
              {problem}
            </p>
          )}
          <div class="buttons">
            <button class={plan === null ? 'main' : ''}>Show what it would make</button>
            <a class="button" href={addressOf(view, definition.name)}>
              Back
            </a>
          </div>
        </form>
      </Sheet>
      {plan === null ? null : <PlanSection view={view} opened={opened} plan={plan} path={path} />}
    </Page>
  );
}

function PlanSection({
  view,
  opened,
  plan,
  path,
}: {
  readonly view: View;
  readonly opened: OpenedSchedule;
  readonly plan: Plan;
  readonly path: string;
}) {
  const { occurrences, existing, missing, from, to } = plan;
  const count = occurrences - existing;
  const now = view.now.getTime();
  return (
    <section>
      <h2>
        {count === 0 ? 'Nothing to make' : `${numberText(count)} ${count === 1 ? 'run' : 'runs'} to make`}
      </h2>
      <Sheet>
        <p class="muted">
          {numberText(occurrences)} {occurrences === 1 ? 'occurrence' : 'occurrences'} in this span, of which{' '}
          {numberText(existing)} {existing === 1 ? 'has' : 'have'} had a run.
        </p>
        <ul class="names">
          {missing.slice(0, MAX_LISTED).map(occurrence => (
            <li>
              <MarkIcon state={occurrence.state} /> {zoneTime(opened.zone, occurrence.at, now)}
              <span class="muted"> · {stateText(occurrence)}</span>
            </li>
          ))}
          {count > MAX_LISTED ? <li class="muted">and {numberText(count - MAX_LISTED)} more</li> : null}
        </ul>
        {count === 0 || !includesRole(view.user.role, 'operate') ? null : (
          <form method="post" action={view.link(path)}>
            <input type="hidden" name="from" value={from.toISOString()} />
            <input type="hidden" name="to" value={to.toISOString()} />
            <button class="main">
              Make {numberText(count)} {count === 1 ? 'run' : 'runs'}
            </button>
          </form>
        )}
      </Sheet>
    </section>
  );
}
