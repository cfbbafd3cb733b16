// Load: how many runs start in each hour of the coming week, before and after a jitter.
import { parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { dayLabel } from '../../model/occurrences/grid.js';
import { dayOfInstant, localDay } from '../../model/occurrences/local-days.js';
import type { Load, LoadCurve } from '../../model/planning/load.js';
import { findZone, type Zone } from '../../model/schedule/zone.js';
import { Page } from '../layout/page.js';
import { Empty, Sheet } from '../layout/parts.js';
import { numberText, spanText } from '../layout/text.js';
import { cellsOf, LoadHeat } from '../pictures/load-heat.js';
import { MAX_DEFINITIONS, MAX_LOAD_OCCURRENCES, type SimulatedLoad, simulateLoad } from '../schedules/simulate-load.js';
import { zoneTime } from '../schedules/times.js';
import type { App, View } from '../view.js';

const JITTERS = ['30s', '1m', '5m', '15m', '30m', '1h'];
const DEFAULT_JITTER = '5m';
const MAX_JITTER_MS = 24 * 3_600_000;
const LEAD =
  'How many runs the schedules would start in the coming seven days. A cell shows the busiest minute of its hour: that is what a database and its workers must bear at once. A jitter spreads schedules that share a minute, each by a delay that is always the same.';

export function addLoadPage(app: App): void {
  app.get('/load', async c => {
    const view = c.get('view');
    const { jitter, zone: named } = c.req.query();
    const { jitterMs, problem } = readJitter(jitter?.trim() || DEFAULT_JITTER);
    const zone = readZone(named?.trim() || view.zone);
    // Whole days, so that the answer can be kept.
    const today = dayOfInstant(zone, view.now.getTime());
    const [from, to] = [today, today + 7].map(day => new Date(localDay(zone, day).start));
    const question = { from: from ?? view.now, to: to ?? view.now, timezone: zone.name, jitterMs };
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

function readJitter(text: string): { jitterMs: number; problem: string | null } {
  try {
    const jitterMs = parseDuration(text, 'jitter');
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

function Chooser({ view, jitter, zone, problem }: { readonly view: View; readonly jitter: string; readonly zone: Zone; readonly problem: string | null }) {
  return (
    <form method="get" action={view.link('/load')} class="filter">
      <label class="inline">
        Jitter for all <input type="text" name="jitter" value={jitter} list="jitters" size={6} />
      </label>
      <datalist id="jitters">
        {JITTERS.map(each => (
          <option value={each} />
        ))}
      </datalist>
      <label class="inline">
        Hours of <input type="text" name="zone" value={zone.name} size={18} />
      </label>
      <button>Simulate</button>
      {problem === null ? null : (
        <span class="problem" role="alert">
          {problem}
        </span>
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
            That is too many to simulate for a page. <code>tock simulate --to …</code> does it for a shorter span.
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
            <a class="link" href={view.link('/schedules')}>The schedules</a> tell why: none is defined, or none of them is active.
          </p>
        </Empty>
        <LeftOut simulated={simulated} />
      </Sheet>
    );
  const most = load.asDefined.peak.perMinute;
  return (
    <>
      <Curve title="As defined" curve={load.asDefined} zone={zone} most={most} view={view} />
      <Curve title={`With a jitter of ${spanText(jitterMs)} for all`} curve={load.jittered} zone={zone} most={most} view={view} before={load.asDefined} />
      <Busiest load={load} view={view} zone={zone} />
      <LeftOut simulated={simulated} />
    </>
  );
}

function Curve({ title, curve, zone, most, view, before }: { readonly title: string; readonly curve: LoadCurve; readonly zone: Zone; readonly most: number; readonly view: View; readonly before?: LoadCurve }) {
  const { peak, starts } = curve;
  const when = peak.minute === null ? '' : `, at ${zoneTime(zone, peak.minute.getTime(), view.now.getTime())}`;
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
        <div class="scroll">
          <LoadHeat hours={curve.hours} zone={zone} most={most} label={`${title}: ${said}, hours of ${zone.name}. The same follows as a table.`} />
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

/** A row a day: its starts and its busiest hour. */
function HourTable({ curve, zone }: { readonly curve: LoadCurve; readonly zone: Zone }) {
  const cells = cellsOf(curve.hours, zone);
  const days = [...new Set(cells.map(({ day }) => day))];
  return (
    <details class="as-table">
      <summary>As a table</summary>
      <div class="scroll">
        <table class="hours">
          <thead>
            <tr>
              <th>Day</th>
              {Array.from({ length: 24 }, (_, hour) => (
                <th class="n">{String(hour).padStart(2, '0')}</th>
              ))}
              <th class="n">Starts</th>
            </tr>
          </thead>
          <tbody>
            {days.map(day => {
              const mine = cells.filter(cell => cell.day === day);
              const sum = mine.reduce((total, { count }) => total + count, 0);
              return (
                <tr>
                  <td>{dayLabel(day)}</td>
                  {Array.from({ length: 24 }, (_, hour) => {
                    const peaks = mine.filter(({ from }) => Math.floor(from) === hour).map(({ peak }) => numberText(peak));
                    return <td class="n">{peaks.length === 0 ? '–' : peaks.join(', ')}</td>;
                  })}
                  <td class="n">{numberText(sum)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}

const MAX_NAMES = 8;

function Busiest({ load, view, zone }: { readonly load: Load; readonly view: View; readonly zone: Zone }) {
  return (
    <section>
      <h2>The busiest minutes, as defined</h2>
      <Sheet flush>
        <table>
          <thead>
            <tr>
              <th>In {zone.name}</th>
              <th class="n">Starts</th>
              <th>Schedules</th>
            </tr>
          </thead>
          <tbody>
            {load.busiest.map(({ minute, count, definitions }) => (
              <tr>
                <td>{zoneTime(zone, minute.getTime(), view.now.getTime())}</td>
                <td class="n">{numberText(count)}</td>
                <td>
                  {definitions.slice(0, MAX_NAMES).map(({ name, count: times }, index) => (
                    <>
                      {index === 0 ? '' : ', '}
                      <a class="link" href={view.link(`/schedules/${encodeURIComponent(name)}`)}>
                        {name}
                      </a>
                      {times > 1 ? ` × ${times}` : ''}
                    </>
                  ))}
                  {definitions.length > MAX_NAMES ? ` and ${numberText(definitions.length - MAX_NAMES)} more` : ''}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Sheet>
    </section>
  );
}

const MAX_LEFT_OUT = 50;

function LeftOut({ simulated }: { readonly simulated: SimulatedLoad }) {
  const { leftOut, isCut } = simulated;
  return (
    <>
      {isCut ? (
        <p class="muted">Only the first {numberText(MAX_DEFINITIONS)} schedules by name are counted.</p>
      ) : null}
      {leftOut.length === 0 ? null : (
        <details class="as-table">
          <summary>
            {numberText(leftOut.length)} {leftOut.length === 1 ? 'schedule is' : 'schedules are'} left out
          </summary>
          <ul class="names">
            {leftOut.slice(0, MAX_LEFT_OUT).map(({ name, reason }) => (
              <li>
                {name} <span class="muted">· {reason}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
