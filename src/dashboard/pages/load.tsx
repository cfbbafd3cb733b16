// Load: how many runs start in each hour of the coming week, before and after a jitter.

import {
  MAX_LOAD_OCCURRENCES,
  type SimulatedLoad,
  simulateLoad,
} from '../../answers/schedules/simulate-load.js';
import { parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import type { LoadCurve } from '../../model/planning/load.js';
import { MINUTE_MS } from '../../model/planning/minute-counter.js';
import { findZone, type Zone } from '../../model/schedule/zone/zone.js';
import { Page } from '../layout/page.js';
import { Empty, Sheet, Suggestions } from '../layout/parts.js';
import { numberText, spanText } from '../layout/text.js';
import { LoadHeat } from '../pictures/load-heat.js';
import { Busiest, HourTable, LeftOut } from '../schedules/load-tables.js';
import { zoneTime } from '../schedules/times.js';
import type { App, View } from '../view.js';

const JITTERS = ['30s', '1m', '5m', '15m', '30m', '1h'];
const DEFAULT_JITTER = '5m';
const DAY_MS = 86_400_000;
const MAX_JITTER_MS = 24 * 3_600_000;
const LEAD =
  'How many runs the schedules would start in the coming seven days. A cell shows the busiest minute of its hour: that is what a database and its workers must bear at once. A jitter spreads schedules that share a minute, each by a delay that is always the same.';

export function addLoadPage(app: App): void {
  app.get('/load', async c => {
    const view = c.get('view');
    const { jitter, zone: named } = c.req.query();
    const { jitterMs, problem } = readJitter(jitter?.trim() || DEFAULT_JITTER);
    const zone = readZone(named?.trim() || view.zone);
    const from = nextMinute(view.now.getTime());
    const question = {
      from: new Date(from),
      to: new Date(from + 7 * DAY_MS),
      timezone: zone.name,
      jitterMs,
    };
    const simulated = await simulateLoad(view.reads, question, view.now.getTime());
    return c.html(
      <Page view={view} title="Load" current="load" lead={LEAD}>
        <Chooser view={view} jitter={jitter ?? DEFAULT_JITTER} zone={zone} problem={problem} />
        <Result view={view} simulated={simulated} zone={zone} jitterMs={jitterMs} />
      </Page>,
      problem === null ? 200 : 400,
    );
  });
}

/** A minute that has begun is not to come. Whole minutes, so that an answer can be kept. */
const nextMinute = (now: number): number => Math.ceil(now / MINUTE_MS) * MINUTE_MS;

function readJitter(text: string): { jitterMs: number; problem: string | null } {
  try {
    const jitterMs = parseDuration(text === '0' ? 0 : text, 'jitter');
    if (jitterMs <= MAX_JITTER_MS) return { jitterMs, problem: null };
    return { jitterMs: MAX_JITTER_MS, problem: 'jitter is shorter than a day' };
  } catch (error) {
    if (!(error instanceof TockError)) throw error;
    return { jitterMs: parseDuration(DEFAULT_JITTER), problem: error.message };
  }
}

function readZone(name: string): Zone {
  try {
    return findZone(name);
  } catch {
    return findZone('UTC');
  }
}

function Chooser({
  view,
  jitter,
  zone,
  problem,
}: {
  readonly view: View;
  readonly jitter: string;
  readonly zone: Zone;
  readonly problem: string | null;
}) {
  return (
    <form method="get" action={view.link('/load')} class="fields filters">
      <label>
        <span>Jitter for all</span>
        <input name="jitter" value={jitter} list="jitters" autocomplete="off" data-search />
      </label>
      <Suggestions id="jitters" values={JITTERS} />
      <label>
        <span>Hours of</span>
        <input name="zone" value={zone.name} autocomplete="off" />
      </label>
      <div class="actions">
        <button>Simulate</button>
      </div>
      {problem === null ? null : (
        <p class="refused" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

interface ResultProps {
  readonly view: View;
  readonly simulated: SimulatedLoad;
  readonly zone: Zone;
  readonly jitterMs: number;
}

function Result({ view, simulated, zone, jitterMs }: ResultProps) {
  const { load } = simulated;
  if (load === null)
    return (
      <Sheet>
        <Empty title={`There are more than ${numberText(MAX_LOAD_OCCURRENCES)} starts in a week`}>
          <p>
            That is too many to simulate for a page. <code>tock simulate --to …</code> does it for a shorter
            span.
          </p>
        </Empty>
        <LeftOut simulated={simulated} />
      </Sheet>
    );
  if (load.asDefined.starts === 0)
    return (
      <Sheet>
        <Empty title="Nothing starts in the coming seven days">
          <p>
            <a class="link" href={view.link('/schedules')}>
              The schedules
            </a>{' '}
            say why: none is defined, or none of them is active.
          </p>
        </Empty>
        <LeftOut simulated={simulated} />
      </Sheet>
    );
  const most = load.asDefined.peak.perMinute;
  return (
    <>
      <Curve title="As defined" curve={load.asDefined} zone={zone} most={most} view={view} />
      <Curve
        title={`With a jitter of ${spanText(jitterMs)} for all`}
        curve={load.jittered}
        zone={zone}
        most={most}
        view={view}
        before={load.asDefined}
      />
      <Busiest load={load} view={view} zone={zone} />
      <LeftOut simulated={simulated} />
    </>
  );
}

function Curve({
  title,
  curve,
  zone,
  most,
  view,
  before,
}: {
  readonly title: string;
  readonly curve: LoadCurve;
  readonly zone: Zone;
  readonly most: number;
  readonly view: View;
  readonly before?: LoadCurve;
}) {
  const { peak, starts } = curve;
  const when =
    peak.minute === null ? '' : `, at ${zoneTime(zone, peak.minute.getTime(), view.now.getTime())}`;
  const change = before === undefined ? '' : changeText(before.peak.perMinute, peak.perMinute);
  const said = `at most ${numberText(peak.perMinute)} in one minute${when}${change}`;
  return (
    <section>
      <div class="section-head">
        <h2>{title}</h2>
        <span class="muted">
          {said} · {numberText(starts)} starts
        </span>
      </div>
      <Sheet>
        <div class="scroll" tabindex={0} role="region" aria-label={title}>
          <LoadHeat
            hours={curve.hours}
            zone={zone}
            most={most}
            label={`${title}: ${said}, hours of ${zone.name}. The same follows as a table.`}
          />
        </div>
        <HourTable curve={curve} zone={zone} />
      </Sheet>
    </section>
  );
}

/** `, 80% less` than before. */
function changeText(before: number, after: number): string {
  if (before === 0 || after >= before) return after > before ? `, more than before` : ', as before';
  return `, ${Math.round((1 - after / before) * 100)}% less`;
}
