// Now: what the scheduler does at this moment, and what needs attention.
import { inTime } from '../../environment/in-time.js';
import { cached, cachedByCost } from '../cached.js';
import { Page } from '../layout/page.js';
import { Empty, Sheet, Time } from '../layout/parts.js';
import { numberText } from '../layout/text.js';
import { AlertsLine } from '../now/alerts-line.js';
import { addMissedBackfill } from '../now/backfill-missed.js';
import { FiguresRow } from '../now/figures-row.js';
import { HealthBanner } from '../now/health-banner.js';
import { MissedLine } from '../now/missed-line.js';
import {
  type ComingHour,
  type NowContent,
  readComingHour,
  readDayInTime,
  readMissedIfPossible,
  readNow,
} from '../now/read-now.js';
import { ComingTable, RunningTable, TroubledTable } from '../now/tables.js';
import { FirstRun, NoJobs } from '../now/welcome.js';
import { MarkNames, marksOf } from '../pictures/deploy-marks.js';
import { Minutes, MinutesTable } from '../pictures/minutes.js';
import type { App, View } from '../view.js';

const SECONDS = 5;
/** All readers of this page share what is read for it. The health counts more than the page shows. */
const CONTENT_MAX_AGE_MS = 900;
const HEALTH_MAX_AGE_MS = 4000;
const HOUR_MAX_AGE_MS = 30_000;
const MISSED_MAX_AGE_MS = 30_000;
/** Then the page comes without it. */
const MISSED_WAIT_MS = 1000;

export function addNowPage(app: App): void {
  const readHealth = cachedByCost(HEALTH_MAX_AGE_MS, async ({ tock }: View) => await tock.health(), {
    versionOf,
  });
  // A forecast, which little of what happens changes: it is not read again for that.
  const readHour = cachedByCost(HOUR_MAX_AGE_MS, readComingHour);
  // Outages are rare, and stay for a day. Only a backfill from here must show at once.
  const openMissed = () => cachedByCost(MISSED_MAX_AGE_MS, readMissedIfPossible);
  let readMissed = openMissed();
  addMissedBackfill(app, () => {
    readMissed = openMissed();
  });
  const readDay = cachedByCost(0, readDayInTime, { versionOf });
  // Not by its cost: a long count of what ended must not keep what runs from being read again.
  const readContent = cached(CONTENT_MAX_AGE_MS, async (view: View) => await readNow(view, readDay), {
    versionOf,
  });
  app.get('/', async c => {
    const view = c.get('view');
    const [content, health, hour, missed] = await Promise.all([
      readContent(view),
      readHealth(view),
      readHour(view),
      inTime(readMissed(view), MISSED_WAIT_MS),
    ]);
    const isStale = content.isStale || health.isStale;
    return c.html(
      <Page view={view} title="Now" current="now" live={SECONDS} seen={content.seen} isStale={isStale}>
        {isUnused(view, content) ? (
          <NoJobs />
        ) : (
          <>
            <HealthBanner view={view} health={health.value} />
            <AlertsLine view={view} down={content.down} />
            <MissedLine view={view} missed={missed?.value ?? null} />
            <FiguresRow view={view} content={content} />
            <Content view={view} content={content} hour={hour.value} />
          </>
        )}
      </Page>,
    );
  });
}

const versionOf = ({ version }: View) => version;

/** Nothing is defined, and nothing was ever enqueued. */
const isUnused = ({ frame }: View, { live, outcomes }: NowContent) =>
  frame.schedules === 0 &&
  live.waiting + live.running + live.scheduled + live.retrying === 0 &&
  totalOf(outcomes) === 0;

const totalOf = ({ total: { succeeded, dead, cancelled, skipped } }: NowContent['outcomes']) =>
  succeeded + dead + cancelled + skipped;

function Content({
  view,
  content,
  hour,
}: {
  readonly view: View;
  readonly content: NowContent;
  readonly hour: ComingHour | null;
}) {
  const { live, outcomes, coming, troubled } = content;
  const isNew = totalOf(outcomes) === 0 && live.running === 0;
  return (
    <div class="two now">
      <div>
        {isNew ? (
          <>
            <h2>Runs</h2>
            <FirstRun view={view} coming={coming} />
          </>
        ) : (
          <LastHour view={view} content={content} />
        )}
        {live.longest.length === 0 ? null : (
          <>
            <h2>
              Running{' '}
              {live.running > live.longest.length ? (
                <small>the {live.longest.length} that run longest</small>
              ) : null}
            </h2>
            <RunningTable view={view} runs={live.longest} />
          </>
        )}
        {troubled.length === 0 ? null : (
          <>
            <h2>Schedules to look at</h2>
            <TroubledTable view={view} troubled={troubled} />
            <MoreTroubled view={view} troubled={troubled} />
          </>
        )}
      </div>
      <div>
        <h2>
          Coming up <Hour view={view} hour={hour} />
        </h2>
        {coming.length === 0 ? <NothingComes view={view} /> : <ComingTable view={view} coming={coming} />}
      </div>
    </div>
  );
}

/** How much starts within an hour. */
function Hour({ view, hour }: { readonly view: View; readonly hour: ComingHour | null }) {
  if (hour === null) return null;
  const { starts, isCut } = hour;
  const count = `${numberText(starts)}${isCut ? '+' : ''}`;
  return (
    <small>
      {starts === 0 ? 'nothing starts' : starts === 1 ? '1 run starts' : `${count} runs start`} within{' '}
      {view.pages.has('/load') ? <a href={view.link('/load')}>an hour</a> : 'an hour'}
    </small>
  );
}

function MoreTroubled({
  view,
  troubled,
}: {
  readonly view: View;
  readonly troubled: NowContent['troubled'];
}) {
  const more = (troubled[0]?.total ?? 0) - troubled.length;
  if (more <= 0) return null;
  return (
    <p class="more">
      and {numberText(more)} more: <a href={view.link('/schedules', { state: 'paused' })}>paused</a>,{' '}
      <a href={view.link('/schedules', { state: 'broken' })}>broken</a>,{' '}
      <a href={view.link('/errors')}>with dead runs</a>
    </p>
  );
}

/** There is nothing to schedule, or all that there is stands still. */
function NothingComes({ view }: { readonly view: View }) {
  const { schedules } = view.frame;
  if (schedules === 0)
    return (
      <Empty title="Nothing is scheduled">
        <p>Runs are made by hand, by other runs, or by an app that enqueues them.</p>
      </Empty>
    );
  return (
    <Empty title="No schedule has a next occurrence">
      <p>
        {numberText(schedules, 10_000)} {schedules === 1 ? 'schedule is' : 'schedules are'}{' '}
        <a href={view.link('/schedules', { state: 'paused' })}>paused</a>,{' '}
        <a href={view.link('/schedules', { state: 'broken' })}>broken</a>, or run after others.
      </p>
    </Empty>
  );
}

function LastHour({ view, content }: { readonly view: View; readonly content: NowContent }) {
  const { minutes, until } = content.outcomes;
  const from = minutes[0]?.at.getTime() ?? view.now.getTime() - 3_600_000;
  const marks = marksOf(content.deploys, { from, to: view.now.getTime() });
  return (
    <>
      <h2>
        Runs a minute, last hour{' '}
        {until === null ? null : (
          <small>
            without those after <Time view={view} at={until} />, too many to count yet
          </small>
        )}
      </h2>
      <Sheet>
        <Minutes minutes={minutes} zone={view.zone} marks={marks} />
        <MarkNames view={view} deploys={content.deploys} from={from} />
        <div class="legend">
          <span class="pill ok">succeeded</span>
          <span class="pill other">skipped or cancelled</span>
          <span class="pill dead">dead, below the line</span>
          <details class="right">
            <summary>As a table</summary>
            <MinutesTable minutes={minutes} zone={view.zone} />
          </details>
        </div>
      </Sheet>
    </>
  );
}
