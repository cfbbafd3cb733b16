// The fields of a schedule's form: their labels, what may be chosen, and the parts in which they are folded.
import { CATCHUP_POLICIES, OVERLAP_POLICIES } from '../../model/planning/policies.js';
import type { Kind, ScheduleFields } from './schedule-form.js';

/** A value to choose, and its words. */
type Choice = readonly [value: string, words: string];

export interface Entry {
  readonly label: string;
  /** What an empty field means, or an example. */
  readonly hint?: string;
  readonly choices?: readonly Choice[];
  /** Several lines. */
  readonly rows?: number;
}

const OVERLAP_WORDS: Readonly<Record<(typeof OVERLAP_POLICIES)[number], string>> = {
  skip: 'skip the new one',
  buffer_one: 'one more waits',
  buffer_all: 'all wait for their turn',
  cancel_other: 'ask the earlier one to stop',
  terminate_other: 'the earlier one loses its lease',
  allow_all: 'both run',
};
const CATCHUP_WORDS: Readonly<Record<(typeof CATCHUP_POLICIES)[number], string>> = {
  latest: 'one run for all of them',
  all: 'a run for each',
  none: 'no run',
};

/** With the value as code writes it. */
const choicesOf = <Value extends string>(
  values: readonly Value[],
  words: Readonly<Record<Value, string>>,
): readonly Choice[] => values.map(value => [value, `${words[value]} (${value})`]);

const DATES = {
  startAt: { label: 'Not before', hint: '2026-12-24T12:00:00Z; empty: no bound' },
  endAt: { label: 'Not after', hint: '2027-12-24T12:00:00Z; empty: no bound' },
  dst: {
    label: 'When clocks change, a local time that',
    choices: [
      ['once', 'is skipped moves; comes twice counts once (once)'],
      ['skip', 'is skipped is left out; comes twice counts once (skip)'],
      ['literal', 'is skipped is left out; comes twice counts twice (literal)'],
    ],
  },
  phase: { label: 'An interval begins later by', hint: '5m; empty: at midnight UTC' },
  anchor: {
    label: 'An interval of whole days begins at this local time',
    hint: '2027-01-04T09:00; empty: it is not bound to local time',
  },
  exclude: {
    label:
      'Leave out: dates such as 2026-12-25, calendars, weekend=sat,sun, or cron expressions, one on each line',
    rows: 2,
  },
  shift: {
    label: 'What falls on a day that is left out',
    choices: [
      ['', 'does not happen'],
      ['next', 'moves to the next day that is not (next)'],
      ['previous', 'moves to the day before that is not (previous)'],
    ],
  },
} as const satisfies Record<string, Entry>;
export const AFTER = {
  require: {
    label: 'Runs when',
    choices: [
      ['all', 'all of them have ended (all)'],
      ['any', 'any of them has ended (any)'],
    ],
  },
  on: {
    label: 'and has ended',
    choices: [
      ['success', 'with success (success)'],
      ['failure', 'with failure (failure)'],
      ['completion', 'in any way (completion)'],
    ],
  },
  waitsFor: {
    label: 'At times of its own: wait for what these have in its data interval',
    hint: 'hourly, load; empty: it waits for none',
  },
} as const satisfies Record<string, Entry>;
const DELAYS = {
  overlap: {
    label: 'While an earlier run is live',
    choices: [['', 'the default'], ...choicesOf(OVERLAP_POLICIES, OVERLAP_WORDS)],
  },
  catchup: {
    label: 'After an outage, for missed times',
    choices: choicesOf(CATCHUP_POLICIES, CATCHUP_WORDS),
  },
  catchupWindow: { label: 'Leave out missed times older than', hint: '1d; empty: no bound' },
  startDeadline: { label: 'Skip a run that cannot start within', hint: '10m; empty: it waits' },
  jitter: { label: 'Jitter: start later by up to', hint: '5m; empty: on time' },
  window: { label: 'Runs start only between', hint: '23:00-06:00; empty: at any time' },
  outsideWindow: {
    label: 'Outside these hours',
    choices: [
      ['defer', 'they wait for the opening (defer)'],
      ['skip', 'they are skipped (skip)'],
    ],
  },
} as const satisfies Record<string, Entry>;
const LIMITS = {
  remaining: { label: 'Number of runs in all', hint: '10; empty: no limit' },
  pauseOnFailure: { label: 'Pause when so many runs in a row are dead', hint: '3; empty: never' },
  within: { label: 'Alert if no run has succeeded within', hint: '30m; empty: no alert' },
  maxDuration: { label: 'Alert if a run takes longer than', hint: '1h; empty: no alert' },
} as const satisfies Record<string, Entry>;
const QUEUE = {
  queue: { label: 'Queue', hint: 'empty: that of the job' },
  priority: { label: 'Priority: a lower number goes first', hint: 'empty: that of the job' },
  maxAttempts: { label: 'Attempts at most', hint: 'empty: as many as the job has' },
  tags: { label: 'Tags of its runs', hint: 'import customer-812' },
} as const satisfies Record<string, Entry>;

/** A field that is in no form would be reset by each edit; leaving one out does not compile. */
export const ENTRIES: Readonly<
  Record<Exclude<keyof ScheduleFields, 'kind' | 'when' | 'timezone' | 'job' | 'payload'>, Entry>
> = { ...AFTER, ...DATES, ...DELAYS, ...LIMITS, ...QUEUE };
export type Folded = keyof typeof ENTRIES;

/** The parts that are folded until one of their fields says something. */
export const FOLDS = [
  { title: 'After others', about: 'all or any of them, with success or failure', entries: AFTER },
  { title: 'Dates', about: 'first and last, what is left out, changes of the clocks', entries: DATES },
  { title: 'Overlap and delays', about: 'missed times, jitter, hours of the day', entries: DELAYS },
  { title: 'Limits and alerts', about: 'number of runs, pause on failure, expectations', entries: LIMITS },
  { title: 'Queue', about: 'priority, attempts, tags', entries: QUEUE },
] as const;

export const KIND_LABELS: Readonly<Record<Kind, string>> = {
  cron: 'by a cron expression',
  every: 'at an interval',
  at: 'once',
  after: 'after other schedules',
};

export const WHEN_HINTS: Readonly<Record<Kind, string>> = {
  cron: '30 2 * * *',
  every: '5m',
  at: '2026-12-24T12:00',
  after: 'load, clean',
};

/** What code does not state is stored with these values, and does not open a part. */
export const USUAL: Partial<Record<Folded, readonly string[]>> = {
  overlap: ['skip'],
  queue: ['default'],
  priority: ['0'],
};

/** Below an empty field: what it takes. */
export const WHEN_EXAMPLES: Readonly<Record<Kind, string>> = {
  cron: '30 2 * * * for each day at 02:30, 0 8 * * mon-fri for weekdays at 08:00, or @daily',
  every: '5m, 90s, 1h or 1d',
  at: '2026-12-24T12:00 in the time zone, or 2026-12-24T12:00:00Z',
  after: 'the name of a schedule, or several with commas between them',
};
