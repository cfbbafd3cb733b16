// One schedule: what it does in plain words, every occurrence in a calendar, and why each ran or did not.

import { listAudit } from '../../answers/audit.js';
import { readJobFigures } from '../../answers/runs/read-job.js';
import { conditionOf } from '../../answers/schedules/condition.js';
import { readFollowers, readNextAt } from '../../answers/schedules/lists.js';
import {
  type OpenedSchedule,
  readCalendar,
  readRecent,
  requireSchedule,
} from '../../answers/schedules/read-schedule.js';
import { summerTimeSentences } from '../../model/occurrences/summer-time.js';
import { catchupSentence, otherSentences, overlapSentence } from '../../model/planning/policy-words.js';
import { readDate } from '../../model/schedule/calendar.js';
import { JobFiguresSection } from '../jobs/job-figures.js';
import { Page } from '../layout/page.js';
import { withChainGaps } from '../schedules/chain-gaps.js';
import { zoneTime } from '../schedules/times.js';
import type { App, View } from '../view.js';
import { plainSchedule } from '../words/schedule-words.js';
import { Actions, addScheduleActions } from './schedule/actions.js';
import { addBackfillPage } from './schedule/backfill.js';
import { CalendarSection } from './schedule/calendar-section.js';
import { DurationsSection } from './schedule/durations-section.js';
import { addEditPages } from './schedule/edit.js';
import { addExceptionActions, ExceptionForms } from './schedule/exception-forms.js';
import { ExceptionsSection } from './schedule/exceptions-section.js';
import { FactsSection } from './schedule/facts-section.js';
import { HistorySection, MAX_HISTORY } from './schedule/history-section.js';
import { WhySection } from './schedule/why-section.js';

export function addSchedulePage(app: App): void {
  app.get('/schedules/:name', async c =>
    c.html(await schedulePage(c.get('view'), c.req.param('name'), c.req.query())),
  );
  app.get('/schedules/:name/why', async c => {
    const { at, ...query } = c.req.query();
    if (!at)
      return c.redirect(c.get('view').link(`/schedules/${encodeURIComponent(c.req.param('name'))}`), 303);
    return c.html(await schedulePage(c.get('view'), c.req.param('name'), query, at));
  });
  addScheduleActions(app);
  addExceptionActions(app);
  addBackfillPage(app);
  addEditPages(app);
}

const MAX_FOLLOWERS = 50;
const RECENT = 60;

async function schedulePage(
  view: View,
  name: string,
  query: Readonly<Record<string, string | undefined>>,
  at: string | null = null,
) {
  const opened = await requireSchedule(view.reads, name);
  const { definition, schedule } = opened;
  const asked = { from: dayIn(query['from']), day: dayIn(query['day']) };
  const [shown, recents, { next, followers, records }, why] = await Promise.all([
    readCalendar(view.reads, opened, asked).then(found => withChainGaps(view, opened, found)),
    // What a chain lacks its parents explain: only its own rows are shown.
    readRecent(view.reads, [{ definition, schedule: definition.after ? null : schedule }], RECENT),
    readSurroundings(view, definition),
    at === null ? null : view.tock.why(name, at),
  ]);
  const recent = recents.get(definition.id) ?? { occurrences: [], exceptions: [], p50: null, p95: null };
  // Without occurrences, its job's runs tell how long they take.
  const figures =
    schedule === null && !definition.after
      ? await readJobFigures(view.reads, definition.job, view.now)
      : null;
  const { look, word } = conditionOf(definition, recent.occurrences, next !== null);
  const now = view.now.getTime();
  // Days that are over change no more.
  const isCurrent = why === null && now >= shown.span.from && now < shown.span.to;
  const aside = (
    <>
      <span class={`pill ${look}`}>{word}</span>
      <Actions view={view} opened={opened} shown={shown} />
    </>
  );
  return (
    <Page
      view={view}
      title={name}
      current="schedules"
      {...(isCurrent ? { live: 15 } : {})}
      aside={aside}
      lead={leadOf(opened, view)}
    >
      <Trouble opened={opened} view={view} />
      {why === null ? null : (
        <WhySection view={view} why={why}>
          <ExceptionForms view={view} opened={opened} at={why.instant?.getTime() ?? null} />
        </WhySection>
      )}
      <CalendarSection view={view} opened={opened} shown={shown} chosen={why?.instant?.getTime() ?? null} />
      <ExceptionsSection view={view} opened={opened} />
      <div class="two">
        <div>
          {figures === null ? (
            <DurationsSection view={view} opened={opened} recent={recent} />
          ) : (
            <JobFiguresSection view={view} name={definition.job} figures={figures} />
          )}
          <HistorySection view={view} opened={opened} records={records} />
        </div>
        <FactsSection view={view} opened={opened} next={next} recent={recent} followers={followers} />
      </div>
    </Page>
  );
}

/** One after another, since a page should not take the whole pool. */
async function readSurroundings({ reads }: View, { id, name }: OpenedSchedule['definition']) {
  const next = await readNextAt(reads, id);
  const followers = await readFollowers(reads, name, MAX_FOLLOWERS);
  const records = await listAudit(reads, { target: name, action: 'schedules', limit: MAX_HISTORY });
  return { next, followers, records };
}

/** A day number from `2026-11-01`; anything else counts as not given. */
function dayIn(text: string | undefined): number | null {
  return text === undefined ? null : readDate(text);
}

/** In plain words: when, what overlap and an outage do, and what happens when the clocks change next. */
export function leadOf({ definition, table, zone }: OpenedSchedule, view: View): string {
  const words = plainSchedule(definition);
  if (words === '') return `The job ${definition.job} runs when it is enqueued, by hand or by the app.`;
  const now = view.now.getTime();
  const where =
    definition.cron === null && definition.anchor === null
      ? ''
      : `, ${zone.name === 'UTC' ? 'UTC' : `${zone.name.split('/').at(-1)?.replaceAll('_', ' ')} time`}`;
  const sentences = [
    `${words}${where}.`,
    overlapSentence(definition),
    definition.after ? null : catchupSentence(definition),
    ...otherSentences(definition, at => zoneTime(zone, at.getTime(), now)),
    ...(table === null ? [] : summerTimeSentences(table, now)),
  ];
  return sentences.filter(sentence => sentence !== null).join(' ');
}

/** Why it makes no runs, where it makes none. */
function Trouble({ opened, view }: { readonly opened: OpenedSchedule; readonly view: View }) {
  const { definition, problem, zone } = opened;
  const now = view.now.getTime();
  const since = (at: Date) => zoneTime(zone, at.getTime(), now);
  const {
    paused_at: paused,
    pause_reason: note,
    broken_at: broken,
    broken_reason: reason,
    vanished_at: vanished,
  } = definition;
  const say = (sentence: string, more: string) => (
    <div class="health">
      <div>
        <p>
          <b>{sentence}</b>
        </p>
        <p>{more}</p>
      </div>
    </div>
  );
  if (broken)
    return say(
      `Broken since ${since(broken)}`,
      `It makes no runs until it is fixed: ${reason ?? problem ?? 'no reason is on record'}`,
    );
  if (problem !== null) return say('Its schedule cannot be read', problem);
  if (vanished)
    return say(
      `${definition.origin === 'code' ? 'No longer in code' : 'Removed'} since ${since(vanished)}`,
      'It makes no runs. Its history stays.',
    );
  if (paused)
    return say(
      `Paused since ${since(paused)}${note === null ? '' : `: ${note}`}`,
      'It makes no runs until it is resumed, and what comes due meanwhile is not caught up. It can be backfilled.',
    );
  return null;
}
