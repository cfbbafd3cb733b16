// Now: what the scheduler does at this moment, and what needs attention.
import { cached, cachedByCost } from '../cached.js';
import { Page } from '../layout/page.js';
import { Empty, Sheet, Time } from '../layout/parts.js';
import { FiguresRow } from '../now/figures-row.js';
import { HealthBanner } from '../now/health-banner.js';
import { type NowContent, readDayInTime, readNow } from '../now/read-now.js';
import { ComingTable, RunningTable, TroubledTable } from '../now/tables.js';
import { FirstRun, NoJobs } from '../now/welcome.js';
import { Minutes, MinutesTable } from '../pictures/minutes.js';
import type { App, View } from '../view.js';

const SECONDS = 5;
/** All readers of this page share what is read for it. The health counts more than the page shows. */
const CONTENT_MAX_AGE_MS = 900;
const HEALTH_MAX_AGE_MS = 4000;

export function addNowPage(app: App): void {
  const readHealth = cachedByCost(HEALTH_MAX_AGE_MS, async ({ tock }: View) => await tock.health());
  const readDay = cachedByCost(0, readDayInTime);
  // Not by its cost: a long count of what ended must not keep what runs from being read again.
  const readContent = cached(CONTENT_MAX_AGE_MS, async (view: View) => await readNow(view, readDay));
  app.get('/', async c => {
    const view = c.get('view');
    const [content, health] = await Promise.all([readContent(view), readHealth(view)]);
    return c.html(
      <Page view={view} title="Now" current="now" live={SECONDS}>
        {isUnused(view, content) ? (
          <NoJobs />
        ) : (
          <>
            <HealthBanner view={view} health={health} />
            <FiguresRow view={view} content={content} />
            <Content view={view} content={content} />
          </>
        )}
      </Page>,
    );
  });
}

/** Nothing is defined, and nothing was ever enqueued. */
const isUnused = ({ frame }: View, { live, outcomes }: NowContent) =>
  frame.schedules === 0 &&
  live.waiting + live.running + live.scheduled + live.retrying === 0 &&
  totalOf(outcomes) === 0;

const totalOf = ({ total: { succeeded, dead, cancelled, skipped } }: NowContent['outcomes']) =>
  succeeded + dead + cancelled + skipped;

function Content({ view, content }: { readonly view: View; readonly content: NowContent }) {
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
          </>
        )}
      </div>
      <div>
        <h2>Coming up</h2>
        {coming.length === 0 ? (
          <Empty title="Nothing is scheduled">
            <p>Runs are made by hand, by other runs, or by an app that enqueues them.</p>
          </Empty>
        ) : (
          <ComingTable view={view} coming={coming} />
        )}
      </div>
    </div>
  );
}

function LastHour({ view, content }: { readonly view: View; readonly content: NowContent }) {
  const { minutes, until } = content.outcomes;
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
        <Minutes minutes={minutes} zone={view.zone} />
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
