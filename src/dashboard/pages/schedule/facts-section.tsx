// What a schedule is: when it runs next, its policies, where it is defined, what it feeds and what feeds it.

import type { Child } from 'hono/jsx';
import { expectedAt } from '../../../answers/schedules/expected.js';
import type { OpenedSchedule, Recent } from '../../../answers/schedules/read-schedule.js';
import { exclusionText } from '../../../model/calendar/exclusion-text.js';
import { formatDuration } from '../../../model/duration.js';
import { deepJsonText } from '../../../model/json-depth.js';
import { Facts, Sheet, Time } from '../../layout/parts.js';
import { relativeText, spanText } from '../../layout/text.js';
import { inZones, nextStart } from '../../schedules/times.js';
import type { View } from '../../view.js';
import { writtenSchedule } from '../../words/schedule-words.js';

export interface FactsSectionProps {
  readonly view: View;
  readonly opened: OpenedSchedule;
  readonly next: Date | null;
  readonly recent: Recent;
  readonly followers: readonly string[];
}

export function FactsSection(props: FactsSectionProps) {
  const { view, opened, recent, followers } = props;
  const { definition, schedule, exceptions } = opened;
  const { timezone, overlap, catchup, catchup_window_ms: catchupWindow, queue } = definition;
  const due = isHeld(definition) ? null : (props.next ?? earliest(opened, view));
  const starts = due === null ? null : nextStart(definition, schedule, exceptions, due);
  // What is due next may be skipped.
  const next = exceptions.length === 0 || starts === null ? (starts === null ? null : due) : new Date(starts);
  const now = view.now.getTime();
  const isOwn = definition.after === null;
  const usual = !isOwn || starts === null || recent.p95 === null ? null : starts + recent.p95;
  const expected = isHeld(definition)
    ? null
    : expectedAt(definition, schedule, recent, view.frame.frozenSpans);
  const longest = definition.max_duration_ms;
  const rows: (readonly [string, Child])[] = [
    ['Does', view.tock.jobs.get(definition.job)?.description ?? null],
    [
      'Schedule',
      writtenSchedule(definition) === '' ? 'none: by hand' : <code>{writtenSchedule(definition)}</code>,
    ],
    ['Time zone', definition.at ? null : timezone],
    [
      isOwn ? 'Next' : 'Next, at the earliest',
      next === null ? null : <Instant view={view} at={next.getTime()} zone={timezone} />,
    ],
    [
      'Starts',
      starts === null || starts === next?.getTime() ? null : (
        <Instant view={view} at={starts} zone={timezone} />
      ),
    ],
    [
      'Usually done by',
      usual === null
        ? null
        : `${inZones(usual, now, timezone)} (95 of 100 take at most ${spanText(recent.p95 ?? 0)})`,
    ],
    [
      'Expected by',
      expected === null ? null : (
        <>
          {expected < now ? <b>late: </b> : null}
          {inZones(expected, now, timezone, 'UTC')}
        </>
      ),
    ],
    ['Takes at most', longest === null ? null : formatDuration(longest)],
    ['Overlap', schedule === null ? null : overlap],
    [
      'Catch-up',
      schedule === null || !isOwn
        ? null
        : `${catchup}${catchupWindow === null ? '' : `, within ${formatDuration(catchupWindow)}`}`,
    ],
    ['Summer time', definition.cron === null && definition.anchor === null ? null : definition.dst],
    ['Left out', excluded(definition.exclude)],
    [
      'Moved',
      definition.shift === null ? null : `what is left out, to the ${definition.shift} day that is not`,
    ],
    [
      'Job',
      <a class="link" href={view.link(`/jobs/${encodeURIComponent(definition.job)}`)}>
        {definition.job}
      </a>,
    ],
    [
      'Queue',
      <a class="link" href={view.link(`/queues/${encodeURIComponent(queue)}`)}>
        {queue}
      </a>,
    ],
    [
      'Attempts',
      `${definition.max_attempts} at most${definition.priority === 0 ? '' : `, priority ${definition.priority}`}`,
    ],
    ['Tags of its runs', definition.tags?.join(', ') ?? null],
    ['Runs after', definition.after ? <Names view={view} names={definition.after.definitions} /> : null],
    ['Followed by', followers.length === 0 ? null : <Names view={view} names={followers} />],
    ['When dead', definition.on_dead === null ? null : `enqueues ${definition.on_dead}`],
    ['Defined', definition.origin === 'code' ? 'in code' : 'at run time'],
    [
      'Version',
      <>
        {definition.version}, <Changed {...props} />
      </>,
    ],
    [
      'Occurrences processed up to',
      schedule === null || !isOwn ? null : <Time view={view} at={definition.cursor} />,
    ],
    [
      'Last tick',
      schedule === null ? null : definition.seen_at === null ? (
        'none was ever seen'
      ) : (
        <Time view={view} at={definition.seen_at} relative />
      ),
    ],
    [
      'Payload',
      view.user.seesPayloads && definition.payload !== null && schedule !== null ? (
        <code class="payload">{deepJsonText(definition.payload)}</code>
      ) : null,
    ],
  ];
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">Facts</h2>
      <Sheet>
        <Facts rows={rows} />
      </Sheet>
    </section>
  );
}

/** Of a chain, the next occurrence of what it runs after. */
function earliest({ definition, schedule }: OpenedSchedule, { now }: View): Date | null {
  const at = definition.after ? (schedule?.next(now.getTime()) ?? null) : null;
  return at === null ? null : new Date(at);
}

export function isHeld({
  paused_at: paused,
  broken_at: broken,
  vanished_at: vanished,
}: OpenedSchedule['definition']): boolean {
  return paused !== null || broken !== null || vanished !== null;
}

function Instant({ view, at, zone }: { readonly view: View; readonly at: number; readonly zone: string }) {
  const now = view.now.getTime();
  return (
    <time datetime={new Date(at).toISOString()}>
      {inZones(at, now, zone, 'UTC', view.zone)} ·{' '}
      {at <= now ? 'due now' : relativeText(new Date(at), view.now)}
    </time>
  );
}

function Changed({ view, opened }: FactsSectionProps) {
  const { created_at: created, updated_at: updated, version } = opened.definition;
  if (version === 1)
    return (
      <>
        made <Time view={view} at={created} />
      </>
    );
  return (
    <>
      changed <Time view={view} at={updated} />, made <Time view={view} at={created} />
    </>
  );
}

function Names({ view, names }: { readonly view: View; readonly names: readonly string[] }) {
  return (
    <>
      {names.map((name, index) => (
        <>
          {index === 0 ? '' : ', '}
          <a class="link" href={view.link(`/schedules/${encodeURIComponent(name)}`)}>
            {name}
          </a>
        </>
      ))}
    </>
  );
}

function excluded(exclude: unknown): string | null {
  if (!Array.isArray(exclude) || exclude.length === 0) return null;
  const texts = exclude.map(exclusionText);
  const more = texts.length > 6 ? `, and ${texts.length - 6} more` : '';
  return `${texts.slice(0, 6).join(', ')}${more}`;
}
