// Doctor: what is checked from here, what is wrong and the command that fixes it, and who ticks.
import { readTicks } from '../../answers/workers.js';
import type { CheckResult } from '../../model/doctor/check.js';
import { resultOf, unknown } from '../../model/doctor/check.js';
import { TockError } from '../../model/errors.js';
import { type TickState, tickState } from '../../model/explain/tick-state.js';
import { quote } from '../../model/names.js';
import type { HealthLevel } from '../../model/problems.js';
import { DEFAULT_LIMITS } from '../../model/problems.js';
import type { LastTick } from '../../model/scheduler-view.js';
import { cached } from '../cached.js';
import { flash } from '../flash.js';
import { Page } from '../layout/page.js';
import { ActionForm, Empty, Sheet, Time } from '../layout/parts.js';
import { numberText, spanText } from '../layout/text.js';
import type { App, View } from '../view.js';

/** The crontab of this host may not be that of the ticks. */
const CRONTAB = resultOf(
  'crontab',
  unknown(
    'cannot be read from here: run tock doctor on each host that ticks, as the user whose crontab it is',
  ),
);

/** All readers share an examination. */
const MAX_AGE_MS = 1500;
const shared = () => cached(MAX_AGE_MS, async ({ tock }: View) => await tock.doctor());

export function addDoctorPage(app: App): void {
  let examine = shared();
  app.get('/doctor', async c => {
    const view = c.get('view');
    const [{ checks }, ticks] = await Promise.all([examine(view), readTicks(view.reads)]);
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

  app.post('/doctor/forget', async c => {
    const view = c.get('view');
    const { host = '' } = await c.req.parseBody();
    if (typeof host !== 'string') throw new TockError('TOCK_BAD_OPTION', 'host is not a text');
    const forgotten = await view.tock.forgetHost(host);
    examine = shared();
    if (forgotten === 0) throw new TockError('TOCK_NOT_FOUND', `no tick of ${quote(host)} is on record`);
    flash(c, `${host} is forgotten. If it ticks again, it is on record again.`);
    return c.redirect(view.link('/doctor'), 303);
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
  const advice = command === null || remedy === null ? remedy : remedy.replace(`: ${command}`, '');
  return (
    <li class={`remedy ${level}`} id={code}>
      <p class="what">
        <LevelPill level={level} /> <b>{title}</b>
      </p>
      <p>{text}</p>
      {advice === null ? null : <p class="muted">{advice}</p>}
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
      <table class="stacked checks">
        <thead>
          <tr>
            <th>Check</th>
            <th>State</th>
            <th>What was found</th>
          </tr>
        </thead>
        <tbody>
          {checks.map(({ code, title, level, text }) => (
            <tr id={code}>
              <td class="head">{title}</td>
              <td data-label="">
                <LevelPill level={level} />
              </td>
              <td data-label="">{text}</td>
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

export function Ticks({ view, ticks }: { readonly view: View; readonly ticks: readonly LastTick[] }) {
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
      <table class="stacked ticks">
        <thead>
          <tr>
            <th>Host</th>
            <th>State</th>
            <th>Last tick</th>
            <th>By</th>
            <th class="n">Ticks</th>
            <th>Versions</th>
            <th>Clock</th>
          </tr>
        </thead>
        <tbody>
          {ticks.map(tick => (
            <TickRow view={view} tick={tick} />
          ))}
        </tbody>
      </table>
    </Sheet>
  );
}

function TickRow({ view, tick }: { readonly view: View; readonly tick: LastTick }) {
  const state = tickState(tick, view.now, DEFAULT_LIMITS.silentTickMs);
  const [look, word] = STATES[state];
  return (
    <tr>
      <td class="head">
        {tick.host}
        <span class="sub">{tick.folder}</span>
      </td>
      <td data-label="State">
        <span class={`pill ${look}`}>{word}</span>
        {state === 'asleep' && tick.asleepUntil !== null ? (
          <span class="sub">
            until <Time view={view} at={tick.asleepUntil} />
          </span>
        ) : null}
        {state === 'silent' ? (
          <ActionForm
            view={view}
            action="/doctor/forget"
            label="Forget"
            fields={{ host: tick.host }}
            needs="operate"
          />
        ) : null}
      </td>
      <td data-label="Last tick">
        <Time view={view} at={tick.at} relative />
      </td>
      <td data-label="By">{KINDS[tick.kind]}</td>
      <td class="n" data-label="Ticks">
        {numberText(tick.count)}
      </td>
      <td data-label="Versions">
        Tock {tick.version}
        <span class="sub">
          Node {tick.node}, zones {tick.zoneData}
        </span>
      </td>
      <td data-label="Clock">{clockText(tick.clockMs)}</td>
    </tr>
  );
}

const STATES: Readonly<Record<TickState, readonly [look: string, word: string]>> = {
  ticking: ['ok', 'ticks'],
  asleep: ['ok', 'asleep'],
  silent: ['retry', 'silent'],
  stopped: ['cancel', 'stopped'],
  gone: ['skip', 'gone'],
};

/** Of the host, compared with the database's. */
function clockText(ms: number): string {
  if (Math.abs(ms) < 1000) return 'right';
  return `${spanText(Math.abs(ms))} ${ms > 0 ? 'ahead' : 'behind'}`;
}
