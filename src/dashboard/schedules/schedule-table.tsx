// The table of schedules, with what can be done to one and to many of them.

import { conditionOf, hasSchedule } from '../../answers/schedules/condition.js';
import { expectedAt } from '../../answers/schedules/expected.js';
import type { ListedDefinition, ScheduleMatch } from '../../answers/schedules/lists.js';
import type { Recent } from '../../answers/schedules/read-schedule.js';
import { findZoneOrUtc } from '../../answers/schedules/zones.js';
import { dayLabel } from '../../model/occurrences/grid.js';
import { dayOfInstant } from '../../model/occurrences/local-days.js';
import { OCCURRENCE_STATES, STATE_WORDS } from '../../model/occurrences/occurrence.js';
import { includesRole } from '../../model/operator.js';
import { defaultQueue } from '../../model/planning/services.js';
import type { CompiledSchedule } from '../../model/schedule/compile.js';
import { ActionForm, Sheet } from '../layout/parts.js';
import { placeOf, relativeText, spanText } from '../layout/text.js';
import { MarkIcon } from '../pictures/mark.js';
import { Strip } from '../pictures/strip.js';
import type { View } from '../view.js';
import { plainSchedule, writtenSchedule } from '../words/schedule-words.js';
import { resumeQuestion } from './resume-question.js';
import { tookWords } from './row-words.js';
import { nextStart, placesOf, zoneTime } from './times.js';

export interface ScheduleRowData {
  readonly definition: ListedDefinition;
  readonly schedule: CompiledSchedule | null;
  readonly recent: Recent;
}

export function ScheduleTable({
  view,
  query,
  rows,
}: {
  readonly view: View;
  readonly query: ScheduleMatch;
  readonly rows: readonly ScheduleRowData[];
}) {
  const mayAct = includesRole(view.user.role, 'operate');
  const states = new Set(rows.flatMap(({ recent }) => recent.occurrences.map(({ state }) => state)));
  return (
    <>
      <Sheet flush>
        <table class="schedules">
          <thead>
            <tr>
              {mayAct ? (
                <th class="check">
                  <span class="unseen">Select</span>
                </th>
              ) : null}
              <th class="name">Schedule</th>
              <th class="when">When</th>
              <th class="next">Next</th>
              <th class="last">
                Last 30<span class="took">, usual time</span>
              </th>
              <th class="state">State</th>
              {mayAct ? (
                <th class="actions">
                  <span class="unseen">Actions</span>
                </th>
              ) : null}
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <ScheduleRow view={view} row={row} mayAct={mayAct} />
            ))}
          </tbody>
        </table>
      </Sheet>
      <div class="legend">
        {OCCURRENCE_STATES.filter(state => states.has(state)).map(state => (
          <span>
            <MarkIcon state={state} /> {STATE_WORDS[state]}
          </span>
        ))}
      </div>
      {mayAct ? <Bulk view={view} query={query} /> : null}
    </>
  );
}

function ScheduleRow({
  view,
  row,
  mayAct,
}: {
  readonly view: View;
  readonly row: ScheduleRowData;
  readonly mayAct: boolean;
}) {
  const { definition, schedule, recent } = row;
  const { name, job, queue, service, timezone, next_at: next } = definition;
  const zone = findZoneOrUtc(timezone);
  const now = view.now.getTime();
  const href = view.link(`/schedules/${encodeURIComponent(name)}`);
  const words = plainSchedule(definition);
  const beside = [
    job === name ? '' : job,
    ['default', defaultQueue(service)].includes(queue) ? '' : `queue ${queue}`,
    service === '' ? '' : `of ${service}`,
  ]
    .filter(part => part !== '')
    .join(' · ');
  const today = `${dayLabel(dayOfInstant(zone, now))} `;
  const isHeld =
    definition.paused_at !== null || definition.vanished_at !== null || definition.broken_at !== null;
  const expected = isHeld ? null : expectedAt(definition, schedule, recent, view.frame.frozenSpans);
  const starts = next === null ? null : nextStart(definition, schedule, recent.exceptions, next);
  // Without exceptions the occurrence, before its jitter.
  const shown = recent.exceptions.length === 0 ? (next?.getTime() ?? null) : starts;
  const nextWords = [
    ...(starts === null ? [] : placesOf(starts, now, timezone, 'UTC')),
    ...(expected === null ? [] : [`expected by ${placesOf(expected, now, timezone).join('')}`]),
  ].join(' · ');
  const { look, word } = conditionOf(definition, recent.occurrences, next !== null);
  return (
    <tr>
      {mayAct ? (
        <td class="check">
          <input type="checkbox" name="schedule" value={name} form="bulk" aria-label={`Select ${name}`} />
        </td>
      ) : null}
      <td class="name" title={[name, beside].filter(part => part !== '').join(', ')}>
        <a href={href} class="strong">
          {name}
        </a>
        {beside === '' ? null : <span class="beside"> {beside}</span>}
      </td>
      <td class="when">
        {words === '' ? (
          <span class="faint">by hand only</span>
        ) : (
          <span class="clamped" title={`${words}: ${writtenSchedule(definition)}, ${timezone}`}>
            {words}
            {timezone === 'UTC' || (definition.cron === null && definition.anchor === null) ? null : (
              <span class="beside"> in {placeOf(timezone)}</span>
            )}
          </span>
        )}
      </td>
      <td class="next">
        {shown === null || isHeld ? (
          <span class="faint">–</span>
        ) : (
          <time datetime={new Date(shown).toISOString()} title={nextWords}>
            {shown <= now ? 'due now' : relativeText(new Date(shown), view.now)}
            <span class="beside at"> {zoneTime(zone, shown, now).replace(today, '')}</span>
          </time>
        )}
        {expected === null || expected >= now ? null : (
          <span class="sub">was expected by {placesOf(expected, now, timezone).join('')}</span>
        )}
      </td>
      <td class="last">
        <a href={href} title={tookWords(recent)}>
          <Strip occurrences={recent.occurrences} timeText={at => zoneTime(zone, at, now)} />
        </a>
        {recent.p50 === null ? null : (
          <span class="beside took" title={tookWords(recent)}>
            {spanText(recent.p50)}
          </span>
        )}
      </td>
      <td class="state">
        <span class={`pill ${look}`}>{word}</span>
      </td>
      {mayAct ? (
        <td class="actions">
          <RowActions view={view} definition={definition} />
        </td>
      ) : null}
    </tr>
  );
}

function RowActions({ view, definition }: { readonly view: View; readonly definition: ListedDefinition }) {
  const { name, vanished_at: vanished, paused_at: paused } = definition;
  const at = `/schedules/${encodeURIComponent(name)}`;
  const fields = { back: view.here };
  if (vanished) return null;
  return (
    <>
      <ActionForm view={view} action={`${at}/run`} label="Run now" fields={fields} needs="operate" />
      {!hasSchedule(definition) ? null : paused ? (
        <ActionForm
          view={view}
          action={`${at}/resume`}
          label="Resume …"
          confirm={resumeQuestion(view, definition)}
          fields={fields}
          needs="operate"
        />
      ) : (
        <ActionForm view={view} action={`${at}/pause`} label="Pause" fields={fields} needs="operate" />
      )}
    </>
  );
}

/** Its check boxes stand in the table, and name it by the attribute `form`. */
function Bulk({ view, query }: { readonly view: View; readonly query: ScheduleMatch }) {
  const { name, job, state } = query;
  return (
    <form id="bulk" method="post" action={view.link('/schedules')} class="bulk">
      <input type="hidden" name="name" value={name ?? ''} />
      <input type="hidden" name="job" value={job ?? ''} />
      <input type="hidden" name="state" value={state ?? ''} />
      <input type="hidden" name="back" value={view.here} />
      <label>
        <select name="which" aria-label="Which schedules">
          <option value="selected">The selected ones</option>
          <option value="all">{name || job || state ? 'All that fit the filter' : 'All schedules'}</option>
        </select>
      </label>
      <button name="act" value="pause">
        Pause …
      </button>
      <button name="act" value="resume">
        Resume …
      </button>
      <button name="act" value="run">
        Run now …
      </button>
      <span class="muted">Shows how many there are, and asks first.</span>
    </form>
  );
}
