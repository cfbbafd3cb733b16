// What became of an occurrence, in words. Pure; the rows come from why.ts.

import { formatDuration } from '../../model/duration.js';
import { instantText } from '../../model/explain/local-clock.js';
import { fateWithoutRow, type Stop, stopOf } from '../../model/explain/without-row.js';
import { occurrencesText } from '../../model/planning/plan-occurrences.js';
import { MAX_BUFFERED } from '../../model/planning/plan-overlap.js';
import type { OverlapPolicy } from '../../model/planning/policies.js';
import { errorOnOneLine } from '../../model/run/errors/root-cause.js';
import { receiverText } from '../../model/run/hand-off-record.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isNever } from '../../model/run/run-wait.js';
import { HANDED_OFF, type RunStatus } from '../../model/run/states.js';
import type { Zone } from '../../model/schedule/zone/zone.js';
import type { Silence } from '../../store/reads/ticks.js';
import type { WhyDefinition } from '../../store/reads/why/why.js';
import { skipWords } from '../now/skip-words.js';

/** The state of an occurrence's run, or why it has none. */
export type Fate =
  | RunStatus
  | 'upcoming'
  | 'waiting'
  | 'due'
  | 'frozen'
  | 'paused'
  | 'broken'
  | 'vanished'
  | 'used-up'
  | 'pruned'
  | 'before-definition'
  | 'no-record';

export interface Finding {
  readonly verdict: Fate;
  readonly sentences: readonly string[];
}

/** A run this much after its occurrence was materialized late. */
const LATE_MS = 120_000;

/** @param dueAt when its occurrence was due, in epoch milliseconds, if it was moved. Default: as scheduled */
export function describeRun(run: RunRecord, zone: Zone, dueAt?: number): Finding {
  const text = (date: Date | null) =>
    date === null ? 'a time that is not on record' : instantText(date.getTime(), zone);
  return {
    verdict: run.status,
    sentences: [`run ${run.id}: ${outcome(run, text)}`, ...lateness(run, dueAt), ...standing(run)],
  };
}

type Text = (date: Date | null) => string;

function outcome(run: RunRecord, text: Text): string {
  const attempts = `attempt ${run.attempts} of ${run.maxAttempts}`;
  const last = run.errors.at(-1);
  const error = last ? `; the last error: ${errorOnOneLine(last)}` : '';
  const by = run.trigger === 'cron' ? '' : ` (made by ${run.trigger})`;
  switch (run.status) {
    case 'succeeded':
      return `it succeeded${by}: ${attempts} ran from ${text(run.startedAt)}${took(run)} on ${holder(run)}`;
    case 'running':
      if (run.handOff !== null)
        return `it is handed off${receiverText(run.handOff)}${by} since ${text(run.handOff.handedOffAt)}, until ${text(run.handOff.leaseUntil)} (tock show ${run.id})`;
      return `it is running${by}: ${attempts} since ${text(run.startedAt)} on ${holder(run)}`;
    case 'queued':
      if (isNever(run.runAt)) return `it is queued${by}, and goes on when its wait is over`;
      return `it is queued${by}, due ${text(run.runAt)}, and waits for ${run.attempts === 0 ? 'its first attempt' : 'a worker'}`;
    case 'failed':
      return `${attempts} failed${by}; the next is due ${text(run.runAt)}${error}`;
    case 'dead':
      return `it is dead since ${text(run.finishedAt)}${by}, after ${attempts}, the last on ${holder(run)}${error} (tock retry ${run.id})`;
    case 'cancelled':
      return `it was cancelled at ${text(run.finishedAt)}${by}${run.skipReason === null ? '' : `: ${run.skipReason}`} (tock retry ${run.id})`;
    case 'skipped':
      return `skipped at ${text(run.finishedAt)}${by}: ${skipWords(run.skipReason)}`;
  }
}

function took({ startedAt, finishedAt }: RunRecord): string {
  return startedAt && finishedAt
    ? ` and took ${formatDuration(finishedAt.getTime() - startedAt.getTime())}`
    : '';
}

/** Host and pid are known while the worker lives; its row goes when it ends. */
function holder({ worker, lockedBy }: RunRecord): string {
  if (worker !== null) return worker;
  if (lockedBy === HANDED_OFF) return 'another system, to which it was handed off';
  return lockedBy === null ? 'a worker that is not on record' : `worker ${lockedBy}, which has ended since`;
}

/** What an overlap policy has no room for; empty if the reason says it all. */
export function overlapWords(policy: OverlapPolicy): string[] {
  switch (policy) {
    case 'buffer_one':
      return ['the overlap policy is buffer_one: one run may wait for the one that is live, and one did'];
    case 'buffer_all':
      return [`the overlap policy is buffer_all: at most ${MAX_BUFFERED} runs are live at once`];
    case 'cancel_other':
    case 'terminate_other':
      return [`the overlap policy is ${policy}: of several that come due at once only the last runs`];
    default:
      return [];
  }
}

const lateMs = ({ scheduledFor, createdAt }: RunRecord, dueAt = scheduledFor?.getTime()): number =>
  dueAt === undefined ? 0 : createdAt.getTime() - dueAt;

/** Whether it was materialized later than a tick a minute does. @param dueAt as in {@link describeRun} */
export const isLate = (run: RunRecord, dueAt?: number): boolean => lateMs(run, dueAt) > LATE_MS;

/** `nothing ticked from 09:20:17 to 09:22:15`. */
export function silenceWords({ from, until }: Silence, zone: Zone): string {
  const since = `nothing ticked from ${instantText(from.getTime(), zone)}`;
  return until === null ? `${since} until now` : `${since} to ${instantText(until.getTime(), zone)}`;
}

function lateness(run: RunRecord, dueAt?: number): string[] {
  const { trigger, status } = run;
  const late = lateMs(run, dueAt);
  if (trigger !== 'cron' || status === 'skipped' || late <= LATE_MS) return [];
  return [`it was materialized ${formatDuration(late)} late: no tick looked at the schedule in between`];
}

function standing({ occurrenceCount, status }: RunRecord): string[] {
  if (occurrenceCount <= 1 || status === 'skipped') return [];
  return [`it stands for ${occurrencesText(occurrenceCount)}, of which it is the last`];
}

/** The occurrences that one skipped row stands for. */
export function describeSpan(run: RunRecord, zone: Zone): string[] {
  if (run.occurrenceCount <= 1 || run.scheduledFor === null || run.intervalStart === null) return [];
  const [first, last] = [run.intervalStart, run.scheduledFor].map(date => instantText(date.getTime(), zone));
  return [
    `run ${run.id} is one row for ${occurrencesText(run.occurrenceCount)}, from ${first ?? ''} to ${last ?? ''}`,
  ];
}

/**
 * An occurrence without a row.
 * @param at epoch milliseconds
 * @param key the run that once had the occurrence's key
 */
export function describeMissing(
  definition: WhyDefinition,
  at: number,
  zone: Zone,
  key: { readonly runId: string; readonly usedAt: Date } | null,
): Finding {
  const text = (date: Date) => instantText(date.getTime(), zone);
  const { cursor, created_at: createdAt, updated_at: updatedAt, version } = definition;
  const fate = fateWithoutRow(definition, at, key !== null);
  const say = (verdict: Fate, sentence: string) => ({ verdict, sentences: [sentence] });
  switch (fate) {
    case 'pruned':
      return say(
        'pruned',
        `run ${key?.runId ?? ''} was made for it at ${text(key?.usedAt ?? cursor)} and has been pruned since; its key is kept`,
      );
    case 'before-definition':
      return say(
        fate,
        `the definition was made at ${text(createdAt)}, after it; earlier occurrences are not caught up`,
      );
    case 'edited':
      return say(
        'no-record',
        `nothing is on record; the definition was edited at ${text(updatedAt)} (version ${version}): this time may be new in it (tock prove ${definition.name} goes by the schedule that was in force)`,
      );
    case 'no-record':
      return say(
        fate,
        `nothing is on record, though the cursor is past it (${text(cursor)}): it fell into a pause, the cursor was moved, or run and key have been pruned`,
      );
    default:
      return describeOpen(definition, at, text);
  }
}

/** An occurrence after the cursor: in the future, or due. */
export function describeOpen(definition: WhyDefinition, at: number, text: (date: Date) => string): Finding {
  const ahead = at - definition.now.getTime();
  const lead =
    ahead > 0
      ? `it is still to come, in ${formatDuration(ahead)}`
      : `it has been due for ${formatDuration(-ahead)}`;
  const blocked = blockedBy(definition, text);
  if (blocked) return { verdict: blocked.verdict, sentences: [`${lead}, but ${blocked.sentence}`] };
  if (ahead > 0) return { verdict: 'upcoming', sentences: [lead] };
  const seen = definition.seen_at;
  const tick = seen === null ? 'no tick was ever seen here' : `a tick was last seen at ${text(seen)}`;
  return {
    verdict: 'due',
    sentences: [
      `${lead} and is not materialized yet: the cursor is at ${text(definition.cursor)}, and ${tick} (tock tick)`,
    ],
  };
}

/** Why a definition makes no runs at all; null if it does. */
export function blockedBy(
  definition: WhyDefinition,
  text: (date: Date) => string,
): { verdict: Stop; sentence: string } | null {
  const verdict = stopOf(definition);
  return verdict === null ? null : { verdict, sentence: stopSentence(definition, verdict, text) };
}

function stopSentence(definition: WhyDefinition, stop: Stop, text: (date: Date) => string): string {
  const { broken_reason: broken, pause_reason: note, origin } = definition;
  const since = (date: Date | null) => (date === null ? 'a time that is not on record' : text(date));
  switch (stop) {
    case 'broken':
      return `the definition is broken since ${since(definition.broken_at)} and makes no runs until it is fixed: ${broken ?? 'no reason is on record'}`;
    case 'vanished':
      return `${origin === 'code' ? 'code no longer has the definition' : 'the definition was removed'}, since ${since(definition.vanished_at)}: it makes no runs`;
    case 'paused':
      return `the definition is paused since ${since(definition.paused_at)}${note === null ? '' : ` (${note})`}: it makes no runs until ${definition.paused_until ? text(definition.paused_until) : 'it is resumed'}`;
    case 'used-up':
      return 'the definition has made all the runs it was to make (remaining is 0)';
  }
}
