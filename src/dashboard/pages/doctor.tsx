// Doctor: what is checked from here, what is wrong and the command that fixes it, and who ticks.
import type { CheckResult } from '../../model/doctor/check.js';
import { resultOf, unknown } from '../../model/doctor/check.js';
import type { HealthLevel } from '../../model/health.js';
import { DEFAULT_LIMITS } from '../../model/problems.js';
import type { LastTick } from '../../model/scheduler-view.js';
import { readTicks } from '../../store/reads/ticks.js';
import { Page } from '../layout/page.js';
import { Empty, Sheet, Time } from '../layout/parts.js';
import { numberText, spanText } from '../layout/text.js';
import type { App, View } from '../view.js';

/** The crontab of this host may not be that of the ticks. */
const CRONTAB = resultOf(
  'crontab',
  unknown(
    'cannot be read from here: run tock doctor on each host that ticks, as the user whose crontab it is',
  ),
);

export function addDoctorPage(app: App): void {
  app.get('/doctor', async c => {
    const view = c.get('view');
    const [{ checks }, ticks] = await Promise.all([view.tock.doctor(), readTicks(view.reads)]);
    const all = [...checks, CRONTAB];
    const wrong = all.filter(({ level }) => level === 'failing' || level === 'warning');
    const other = all.filter(check => !wrong.includes(check));
    return c.html(
      <Page view={view} title="Doctor" current="doctor" lead={leadOf(all, wrong)} live={60}>
        {wrong.length === 0 ? null : (
          <>
            <h2>To fix</h2>
            <ul class="remedies">
              {wrong.sort(worstFirst).map(check => (
                <Wrong check={check} />
              ))}
            </ul>
          </>
        )}
        <h2>{wrong.length === 0 ? 'Checks' : 'Other checks'}</h2>
        <Checks checks={other} />
        <h2>
          Who ticks <small>noted at most once in half a minute</small>
        </h2>
        <Ticks view={view} ticks={ticks} />
      </Page>,
    );
  });
}

function leadOf(all: readonly CheckResult[], wrong: readonly CheckResult[]): string {
  const unchecked = all.filter(({ level }) => level === 'unknown').length;
  const rest = unchecked === 0 ? '' : ` ${unchecked} could not be checked from here.`;
  if (wrong.length === 0) return `Nothing is wrong.${rest}`;
  return `${wrong.length} of ${all.length} checks found something.${rest}`;
}

const worstFirst = (a: CheckResult, b: CheckResult) =>
  Number(b.level === 'failing') - Number(a.level === 'failing');

const PILLS: Readonly<Record<HealthLevel, { readonly look: string; readonly word: string }>> = {
  ok: { look: 'ok', word: 'fine' },
  unknown: { look: 'skip', word: 'not known' },
  warning: { look: 'retry', word: 'warning' },
  failing: { look: 'dead', word: 'failing' },
};

function LevelPill({ level }: { readonly level: HealthLevel }) {
  const { look, word } = PILLS[level];
  return <span class={`pill ${look}`}>{word}</span>;
}

function Wrong({ check }: { readonly check: CheckResult }) {
  const { code, title, level, text, remedy, command } = check;
  const told = command === null || remedy === null ? remedy : remedy.replace(`: ${command}`, '');
  return (
    <li class={`remedy ${level}`} id={code}>
      <p class="what">
        <LevelPill level={level} /> <b>{title}</b>
      </p>
      <p>{text}</p>
      {told === null ? null : <p class="muted">{told}</p>}
      {command === null ? null : (
        <pre>
          <code>{command}</code>
        </pre>
      )}
    </li>
  );
}

function Checks({ checks }: { readonly checks: readonly CheckResult[] }) {
  return (
    <Sheet flush>
      <table class="checks">
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Check</th>
            <th scope="col">What was found</th>
          </tr>
        </thead>
        <tbody>
          {checks.map(({ code, title, level, text }) => (
            <tr id={code}>
              <td>
                <LevelPill level={level} />
              </td>
              <th scope="row">{title}</th>
              <td>{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Sheet>
  );
}

const KINDS: Readonly<Record<LastTick['kind'], string>> = {
  tick: 'cron, or tock tick',
  daemon: 'tock start',
  library: 'an app',
};

function Ticks({ view, ticks }: { readonly view: View; readonly ticks: readonly LastTick[] }) {
  if (ticks.length === 0)
    return (
      <Empty title="Nothing has ticked yet">
        <p>Schedules make runs when something ticks: a line in the crontab, or a daemon.</p>
        <pre>
          <code>tock start</code>
        </pre>
      </Empty>
    );
  return (
    <Sheet flush>
      <table class="ticks">
        <thead>
          <tr>
            <th scope="col">Host</th>
            <th scope="col">State</th>
            <th scope="col">Last tick</th>
            <th scope="col">By</th>
            <th scope="col" class="n wide">
              Ticks
            </th>
            <th scope="col" class="wide">
              Versions
            </th>
            <th scope="col" class="n wide">
              Clock
            </th>
          </tr>
        </thead>
        <tbody>
          {ticks.map(tick => (
            <tr>
              <th scope="row">
                {tick.host}
                <span class="sub">{tick.folder}</span>
              </th>
              <td>
                <TickPill tick={tick} now={view.now} />
              </td>
              <td>
                <Time view={view} at={tick.at} relative />
              </td>
              <td>{KINDS[tick.kind]}</td>
              <td class="n wide">{numberText(tick.count)}</td>
              <td class="wide">
                Tock {tick.version}
                <span class="sub">
                  Node {tick.node}, zones {tick.zoneData}
                </span>
              </td>
              <td class="n wide">{clockText(tick.clockMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Sheet>
  );
}

function TickPill({ tick, now }: { readonly tick: LastTick; readonly now: Date }) {
  if (tick.stoppedAt !== null) return <span class="pill cancel">stopped</span>;
  const isSilent = now.getTime() - tick.at.getTime() > DEFAULT_LIMITS.silentTickMs;
  return isSilent ? <span class="pill retry">silent</span> : <span class="pill ok">ticks</span>;
}

/** Of the host, compared with the database's. */
function clockText(ms: number): string {
  if (Math.abs(ms) < 1000) return 'right';
  return `${spanText(Math.abs(ms))} ${ms > 0 ? 'ahead' : 'behind'}`;
}
