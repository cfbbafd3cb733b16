// What happens with a run now, and why: one sentence, and what can be done about it.
import { ALERT_QUEUE } from '../../model/alerts/alert-queue.js';
import { formatSpan } from '../../model/duration.js';
import { missingJobRemedy } from '../../model/explain/awaited.js';
import { type FairTurn, holdText, turnText } from '../../model/explain/fair-turn.js';
import { OVERLOOKED_REMEDY, overlookedText } from '../../model/explain/overlooked.js';
import { slotText } from '../../model/explain/slot.js';
import { type Freeze, freezeText } from '../../model/freeze/freeze.js';
import { type Window, windowIn } from '../../model/planning/window.js';
import type { OverlookedRun } from '../../model/queue/waiting-runs.js';
import { messageOnOneLine } from '../../model/run/errors/root-cause.js';
import { type HandOffPhase, type HandOffRecord, handOffState } from '../../model/run/hand-off-record.js';
import { fairKeyOf, jobOfCodeKey } from '../../model/run/limits.js';
import type { LivedRun } from '../../model/run/run-life.js';
import { currentWait, isNever, type RunWait, remedyOf, waitText } from '../../model/run/run-wait.js';
import { shellWord } from '../../model/shell-word.js';
import { skipWords } from './skip-words.js';

/** Of a run. Instants as Dates. */
export interface ExplainedRun extends LivedRun {
  readonly id: string;
  readonly job: string;
  readonly definition: string | null;
  readonly maxAttempts: number;
  readonly queue: string;
  readonly lockedUntil: Date | null;
  readonly cancelRequestedAt: Date | null;
  readonly skipReason: string | null;
  readonly blockedOn: string | null;
  readonly releases: number;
  readonly generation: number;
  /** While it is handed off. */
  readonly handOff: HandOffRecord | null;
  /** The run that starts when this one has ended. */
  readonly successor: string | null;
  readonly snoozes: number;
  readonly waits: readonly RunWait[];
}

/** What it may wait for. */
export interface Surroundings {
  readonly now: Date;
  /** Its queue's limits; null: none. */
  readonly queue: {
    readonly pausedAt: Date | null;
    readonly pauseReason: string | null;
    readonly closedUntil?: Date | null;
    readonly concurrency: number | null;
    /** How many of its slots are taken. */
    readonly taken: number;
    readonly window: string | null;
    readonly timezone: string;
    readonly rate: { readonly count: number; readonly perMs: number } | null;
  } | null;
  /** The runs that have what it waits for, the first few, and how many there are. */
  readonly holders: { readonly ids: readonly string[]; readonly count: number };
  /** Of the fair key whose turn it waits for. Default: it waits for none, or nobody has looked at it yet. */
  readonly turn?: FairTurn | null;
  /** When a worker was last seen; null: never, or too long ago. */
  readonly workerSeenAt: Date | null;
  /** Until when what executes runs sleeps; null: it does not. Default null. */
  readonly asleepUntil?: Date | null;
  /** Null: nothing is frozen. */
  readonly frozen: Freeze | null;
  /** Null, the default: it is not known that a worker should have taken it. */
  readonly overlooked?: OverlookedRun | null;
}

/**
 * - `good`: it is done, or goes on as it should
 * - `waiting`: it goes on by itself
 * - `attention`: it does not go on without an operator
 */
export type Tone = 'good' | 'waiting' | 'attention';

export interface RunNow {
  readonly tone: Tone;
  readonly sentence: string;
  /** What to do, or what follows; null: nothing. */
  readonly remedy: string | null;
  /** Of a run that is due and does not start: `a free worker`, `a slot of job load`. Else null. */
  readonly waitsFor: string | null;
}

/** Of a run that is not joined to the runs of its data interval yet. */
const INTERVAL_WAIT =
  'It waits until what its definition waits for has a run of each occurrence in its data interval';

const intervalRemedy = ({ definition, id }: ExplainedRun) =>
  `tock why ${shellWord(definition ?? '')} with its time says which are missing; tock group continue ${id} lets it start without them.`;

/** A tick comes every minute; a worker that was seen within this time will come again. */
const SEEN_MS = 150_000;

export function explainRun(run: ExplainedRun, around: Surroundings): RunNow {
  const now = explainStatus(run, around);
  if (run.successor === null) return now;
  const then = `When it has ended, run ${run.successor} starts, which was enqueued meanwhile with its key.`;
  return { ...now, remedy: now.remedy === null ? then : `${now.remedy} ${then}` };
}

function explainStatus(run: ExplainedRun, around: Surroundings): RunNow {
  switch (run.status) {
    case 'queued':
    case 'failed':
      return explainWaiting(run, around);
    case 'running':
      return explainRunning(run, around.now);
    case 'succeeded': {
      const took = tookText(run);
      return say(
        'good',
        `It succeeded${run.attempts > 1 ? ` at attempt ${run.attempts}` : ''}${took === '' ? '' : `, in ${took}`}.`,
      );
    }
    case 'dead':
      return say('attention', deadSentence(run), 'Nothing more happens unless it is retried.');
    case 'cancelled':
      return say(
        'waiting',
        run.skipReason === null ? 'It was cancelled.' : `It was cancelled: ${run.skipReason}.`,
        remedyOf(run.status, run.waits.at(-1), run.id) === null
          ? 'Nothing more happens unless it is retried.'
          : 'Nothing more happens unless it is retried, and its parent before it.',
      );
    case 'skipped':
      return say('waiting', `It was not executed: ${skipWords(run.skipReason)}.`);
  }
}

function say(tone: Tone, sentence: string, remedy: string | null = null, waitsFor: string | null = null) {
  return { tone, sentence, remedy, waitsFor } satisfies RunNow;
}

function tookText({ startedAt, finishedAt }: LivedRun): string {
  if (startedAt === null || finishedAt === null) return '';
  return formatSpan(Math.max(finishedAt.getTime() - startedAt.getTime(), 0));
}

function deadSentence({ attempts, maxAttempts, errors }: ExplainedRun): string {
  const last = errors.at(-1);
  if (last?.name === 'Dead') return `Its handler gave it up at attempt ${attempts}.`;
  if (last?.code === 'TOCK_BAD_ROW') return 'It was set aside: no statement can work with its row.';
  const said = last === undefined ? '' : messageOnOneLine(last);
  const line = said.trim().replace(/[.…]+$/, '');
  const why = line === '' ? '.' : `: ${line}.`;
  if (attempts < maxAttempts) return `It is dead after ${times(attempts)}${why}`;
  if (maxAttempts === 1) return `Its only attempt failed${why}`;
  return `All of its ${maxAttempts} attempts failed${line === '' ? '' : ', the last one with'}${why}`;
}

const times = (attempts: number) => (attempts === 1 ? 'one attempt' : `${attempts} attempts`);

function explainRunning(run: ExplainedRun, now: Date): RunNow {
  if (run.handOff !== null) return explainHandedOff(run, run.handOff, now);
  const left = (run.lockedUntil?.getTime() ?? 0) - now.getTime();
  const on = run.worker === null ? '' : ` on ${run.worker}`;
  if (left <= 0)
    return say(
      'attention',
      `Its lease expired ${formatSpan(-left)} ago: its worker${on} is gone.`,
      'The next tick takes it back.',
    );
  if (run.cancelRequestedAt !== null)
    return say(
      'waiting',
      `Its handler${on} was asked to stop ${formatSpan(Math.max(now.getTime() - run.cancelRequestedAt.getTime(), 0))} ago.`,
      'When it stops, the run is cancelled.',
    );
  const since =
    run.startedAt === null ? '' : ` for ${formatSpan(Math.max(now.getTime() - run.startedAt.getTime(), 0))}`;
  return say('good', `Attempt ${run.attempts} of ${run.maxAttempts} has been running${since}${on}.`);
}

const HANDED_OFF_NOW: Readonly<Record<HandOffPhase, readonly [Tone, string]>> = {
  open: ['waiting', 'It goes on when it is completed.'],
  decided: ['good', 'The next tick writes that.'],
  cancelled: ['waiting', 'The next tick writes that.'],
  overdue: ['attention', 'The next tick takes it back.'],
};

function explainHandedOff(run: ExplainedRun, handOff: HandOffRecord, now: Date): RunNow {
  const { phase, text } = handOffState(handOff, run.cancelRequestedAt !== null, now.getTime());
  const [tone, remedy] = HANDED_OFF_NOW[phase];
  return say(tone, `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.`, remedy);
}

/** Null for a window or zone that is none: rows may be written by hand. */
function readableWindow(window: string, timezone: string): Window | null {
  try {
    return windowIn(window, timezone);
  } catch {
    return null;
  }
}

function explainWaiting(run: ExplainedRun, around: Surroundings): RunNow {
  const { now, queue, turn = null, workerSeenAt, asleepUntil = null, frozen, overlooked = null } = around;
  const next = `Attempt ${run.attempts + 1} of ${run.maxAttempts}`;
  const failed = run.status === 'failed' ? `Attempt ${run.attempts} failed. ` : '';
  const waited = now.getTime() - run.runAt.getTime();
  if (frozen !== null && waited >= 0 && run.queue !== ALERT_QUEUE)
    return say(
      'attention',
      `${failed}${next} is due, but everything is ${freezeText(frozen, now)}.`,
      'It waits until then at least, or until tock thaw; tock run executes one by hand all the same.',
      'the end of the freeze',
    );
  const wait = currentWait(run, now);
  if (wait?.kind === 'group') {
    const remedy = remedyOf(run.status, wait, run.id);
    const sentence = `It waits ${waitText(wait, run.snoozes, now)}.`;
    return remedy === null
      ? say('waiting', sentence, `tock group ${run.id} shows them.`)
      : say('attention', sentence, `It goes on with ${remedy}.`);
  }
  if (wait) return say('waiting', `Its handler waits ${waitText(wait, run.snoozes, now)}.`);
  if (isNever(run.runAt)) return say('waiting', `${INTERVAL_WAIT}.`, intervalRemedy(run));
  if (waited < 0) return say('waiting', `${failed}${next} is due in ${formatSpan(-waited)}.`);
  if (queue?.pausedAt) {
    const note = queue.pauseReason === null ? '' : ` (${queue.pauseReason})`;
    const since = formatSpan(Math.max(now.getTime() - queue.pausedAt.getTime(), 0));
    return say(
      'attention',
      `${failed}${next} is due, but its queue ${run.queue} has been paused for ${since}${note}.`,
      'It starts when the queue is resumed.',
      `queue ${run.queue} to be resumed`,
    );
  }
  if (queue?.closedUntil)
    return say(
      'waiting',
      `${failed}${next} is due, but a handler has closed its queue ${run.queue}.`,
      `It opens in ${formatSpan(Math.max(0, queue.closedUntil.getTime() - now.getTime()))}; sooner: tock queue resume ${run.queue}.`,
      `queue ${run.queue} to be open`,
    );
  const open = queue?.window ? readableWindow(queue.window, queue.timezone) : null;
  if (queue && open && !open.isOpen(now.getTime()))
    return say(
      'waiting',
      `${failed}${next} is due, but its queue ${run.queue} is outside its window ${queue.window ?? ''} (${queue.timezone}).`,
      `It opens in ${formatSpan(open.opening(now.getTime()) - now.getTime())}.`,
      `the window of queue ${run.queue}`,
    );
  const what = `${failed}${next} waits for`;
  const blocked = explainBlocked(run, around, what);
  if (blocked !== null) return blocked;
  if (queue && queue.concurrency !== null && queue.taken >= queue.concurrency)
    return say(
      'waiting',
      `${failed}${next} is due, but its queue ${run.queue} is full: ${queue.taken} of ${queue.concurrency} slots are taken.`,
      null,
      `a slot in queue ${run.queue}`,
    );
  if (asleepUntil !== null)
    return say(
      'waiting',
      `${failed}${next} is due, and what executes runs sleeps for ${formatSpan(asleepUntil.getTime() - now.getTime())} more (--idle).`,
      'It was enqueued where nothing wakes it; tock tick executes it now.',
      'a worker that sleeps',
    );
  if (workerSeenAt === null || now.getTime() - workerSeenAt.getTime() > SEEN_MS)
    return say(
      'attention',
      workerSeenAt === null
        ? `${failed}${next} is due, but no worker has been seen.`
        : `${failed}${next} is due, but no worker has been seen for ${formatSpan(now.getTime() - workerSeenAt.getTime())}.`,
      'Run tock start, or let cron run tock tick each minute.',
      'a worker',
    );
  if (overlooked !== null) {
    const sentence = `${failed}${next} is due, and ${overlookedText(overlooked, now)}.`;
    return say('attention', sentence, `${OVERLOOKED_REMEDY}.`, 'a worker');
  }
  const rate = queue?.rate
    ? ` Its queue ${run.queue} starts at most ${queue.rate.count} runs per ${formatSpan(queue.rate.perMs)}.`
    : '';
  if (run.blockedOn !== null) {
    const slot = slotText(run.blockedOn, run);
    return say('waiting', `${what} ${slot}${turnText(turn)}.${rate}`, null, slot);
  }
  return waited < 60_000
    ? say('waiting', `${failed}${next} is due now.${rate}`, 'The next free worker takes it.', 'a free worker')
    : say(
        'waiting',
        `${failed}${next} has been due for ${formatSpan(waited)} and waits for a free worker.${rate}`,
        null,
        'a free worker',
      );
}

/** Null: it is not blocked, or its fair key only takes turns with others. */
function explainBlocked(
  run: ExplainedRun,
  { now, holders, turn = null }: Surroundings,
  what: string,
): RunNow | null {
  if (run.blockedOn === null) return null;
  const slot = slotText(run.blockedOn, run);
  if (fairKeyOf(run.blockedOn) !== null) {
    const hold = holdText(turn, at => `in ${formatSpan(Math.max(0, at.getTime() - now.getTime()))}`);
    return hold === null ? null : say('waiting', `${what} ${slot}${hold}.`, null, slot);
  }
  const job = jobOfCodeKey(run.blockedOn);
  if (job !== null)
    return say(
      'attention',
      `${what} ${slot}: the one that claimed it does not.`,
      `${missingJobRemedy(job)}.`,
      slot,
    );
  const { ids, count } = holders;
  if (count === 0)
    return say('waiting', `${what} ${slot}, which is free now.`, 'The next tick lets it start.', slot);
  const others = count > ids.length ? ` and ${count - ids.length} more` : '';
  const who = count === 1 ? `run ${ids.join()} has` : `runs ${ids.join(', ')}${others} have`;
  return say('waiting', `${what} ${slot}, which ${who}.`, null, slot);
}
