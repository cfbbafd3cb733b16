// What the rules are about, read once for all of them; and what each rule makes of it.
import { type AttemptEvent, isDeadOver, observeDead, observeFailing } from '../../model/alerts/events.js';
import { expectedBy } from '../../model/alerts/expectations.js';
import { type AlertState, folderSubject, type Observation } from '../../model/alerts/judge.js';
import type { Alerting, Rule } from '../../model/alerts/read-alerts.js';
import { formatSpan } from '../../model/duration.js';
import type { FrozenSpan } from '../../model/freeze/freeze.js';
import type { Exception } from '../../model/planning/exceptions.js';
import { windowOf } from '../../model/planning/window.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { readLivingSubjects, readStopped } from '../../store/alerts/evaluation.js';
import {
  endWatches,
  type LongRun,
  moveWatches,
  readDueWatches,
  readLongRuns,
  readSilentHosts,
  readWaitingQueues,
  type WatchedDefinition,
} from '../../store/alerts/facts.js';
import type { Session } from '../../store/connection/database.js';
import { readFrozenSpans } from '../../store/definitions/freeze/freezes.js';
import { readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import { workingSchedule } from '../materialize/locked-definition.js';

const MAX_WATCHES = 500;
const MAX_LONG_RUNS = 500;
const MAX_STOPPED = 1000;
/** How soon to look again at what is late, before the next tick but one; and at what is paused. */
const LATE_AGAIN_MS = 50_000;
const PAUSED_AGAIN_MS = 300_000;

export interface Gathered {
  /** Whose states are needed. */
  readonly subjects: ReadonlySet<string>;
  /** Some definitions that may be late were left to the next round. */
  readonly hasMore: boolean;
  /** What a rule says now. @param states those of the rule that are down, or among `subjects` */
  observe(session: Session, rule: Rule, states: readonly AlertState[]): Promise<readonly Observation[]>;
}

interface Found {
  readonly down: readonly Observation[];
  /** More may be down than were read. */
  readonly isCut: boolean;
}

/** @param now epoch milliseconds */
export async function gather(
  session: Session,
  alerting: Alerting,
  events: readonly AttemptEvent[],
  now: number,
): Promise<Gathered> {
  const has = (when: Rule['when']) => alerting.rules.some(rule => rule.when === when);
  const bySubject = new Map<string, AttemptEvent[]>();
  for (const event of events) bySubject.set(event.subject, [...(bySubject.get(event.subject) ?? []), event]);
  const late = has('late') ? await observeLate(session, now) : { observations: [], hasMore: false };
  const longRuns = has('running-long') ? await readLongRuns.run(session, { limit: MAX_LONG_RUNS }) : [];
  const stopped = has('broken') ? await readStoppedDefinitions(session) : [];
  const all = (down: readonly Observation[]): Found => ({ down, isCut: false });
  const levels = new Map<string, Found>();
  for (const rule of alerting.rules) {
    if (rule.when === 'waiting') levels.set(rule.name, all(await observeWaiting(session, rule)));
    if (rule.when === 'silent') levels.set(rule.name, all(await observeSilent(session, rule)));
    if (rule.when === 'running-long')
      levels.set(rule.name, {
        down: longRuns.map(ofLongRun),
        isCut: longRuns.length === MAX_LONG_RUNS,
      });
    if (rule.when === 'broken')
      levels.set(rule.name, { down: stopped, isCut: stopped.length === MAX_STOPPED });
  }
  const subjects = new Set([
    ...bySubject.keys(),
    ...late.observations.map(each => each.subject),
    ...[...levels.values()].flatMap(found => found.down.map(each => each.subject)),
  ]);

  return {
    subjects,
    hasMore: late.hasMore,
    async observe(sameSession, rule, states) {
      const isWanted = ({ subject }: { readonly subject: string }) =>
        rule.only === null || rule.only.has(subject);
      const down = states.filter(state => state.status === 'down');
      const unwanted = down.filter(state => !isWanted(state)).map(over('the rule is no longer about it'));
      if (rule.when === 'late') return [...late.observations.filter(isWanted), ...unwanted];
      if (rule.when === 'failing' || rule.when === 'dead') {
        const seen = [...bySubject.values()].flatMap(ofSubject => ofEvents(rule, ofSubject, states) ?? []);
        const rest = down.filter(state => isWanted(state) && !bySubject.has(state.subject));
        return [...seen.filter(isWanted), ...unwanted, ...(await ended(sameSession, rule, rest, now))];
      }
      const { down: found = [], isCut = false } = levels.get(rule.name) ?? {};
      const still = new Set(found.filter(isWanted).map(each => each.subject));
      // More than were read: what is not among them may be down still.
      const gone = isCut
        ? unwanted
        : down.filter(state => !still.has(state.subject)).map(over(OVER[rule.when]));
      return [...found.filter(isWanted), ...gone];
    },
  };
}

const OVER = {
  'running-long': 'the run has ended',
  waiting: 'no run waits that long any more',
  silent: 'it ticks again, or is no longer expected to',
  broken: 'it is no longer broken',
} as const;

const over =
  (detail: string) =>
  ({ subject }: AlertState): Observation => ({ subject, isDown: false, detail, job: null });

function ofEvents(
  rule: Rule,
  events: readonly AttemptEvent[],
  states: readonly AlertState[],
): Observation | null {
  const was = states.find(state => state.subject === events[0]?.subject) ?? null;
  return rule.when === 'failing' ? observeFailing(was, events, rule.times) : observeDead(was, events);
}

/** What is down without a new event: recovered if the definition is gone, or the dead run was long ago. */
async function ended(
  session: Session,
  rule: Rule,
  down: readonly AlertState[],
  now: number,
): Promise<Observation[]> {
  if (down.length === 0) return [];
  const names = down.map(state => state.subject);
  const living = new Set((await readLivingSubjects.run(session, { names })).map(row => row.name));
  return down.map(state => {
    if (!living.has(state.subject)) return over('code no longer has it')(state);
    if (rule.when === 'dead' && isDeadOver(state, now)) return over('no run has ended dead for a day')(state);
    // Still down: a reminder may be due.
    return { subject: state.subject, isDown: true, detail: '', failures: state.failures };
  });
}

function ofLongRun({ id, subject, runningMs, maxMs }: LongRun): Observation {
  const detail = `run ${id} has been running for ${formatSpan(runningMs)}, longer than ${formatSpan(maxMs)}`;
  return { subject, isDown: true, detail, runId: id };
}

async function observeWaiting(session: Session, rule: Rule): Promise<Observation[]> {
  const queues = await readWaitingQueues.run(session, {
    waitMs: rule.longerThanMs,
    waitQueues: rule.only && [...rule.only],
  });
  return queues.map(({ queue, waitedMs, isPaused }) => ({
    subject: queue,
    isDown: true,
    detail: `a run in the queue ${queue} has waited for ${formatSpan(waitedMs)}${isPaused ? '; the queue is paused' : ''}`,
  }));
}

async function observeSilent(session: Session, rule: Rule): Promise<Observation[]> {
  const hosts = await readSilentHosts.run(session, { silentMs: rule.longerThanMs });
  return hosts.map(({ host, folder, silentMs }) => ({
    subject: folderSubject(host, folder),
    isDown: true,
    detail: `nothing on ${host} in ${folder} has ticked for ${formatSpan(silentMs)}: check its crontab, or its service`,
  }));
}

async function readStoppedDefinitions(session: Session): Promise<Observation[]> {
  const stopped = await readStopped.run(session, { limit: MAX_STOPPED });
  return stopped.map(({ name, brokenReason, pauseReason }) => ({
    subject: name,
    isDown: true,
    detail:
      brokenReason === null
        ? `it is ${pauseReason}; fix it, then: tock resume ${name}`
        : `it cannot be evaluated: ${brokenReason}`,
  }));
}

async function observeLate(
  session: Session,
  now: number,
): Promise<{ observations: readonly Observation[]; hasMore: boolean }> {
  const due = await readDueWatches(session, MAX_WATCHES);
  const exceptionsOf = await readExceptions(session, due, { isAll: true });
  const moved: { id: string; checkAt: number | null }[] = [];
  const frozen = due.length === 0 ? [] : await readFrozenSpans(session);
  const isFrozen = frozen.some(({ to }) => to > now);
  const observations = due.map((definition): Observation => {
    const { name: subject, id } = definition;
    if (!definition.isActive) {
      if (!definition.isGone) moved.push({ id, checkAt: now + PAUSED_AGAIN_MS });
      return { subject, isDown: false, detail: 'no success is expected now' };
    }
    const by = expectedByOf(definition, exceptionsOf(definition), frozen);
    const isDown = by !== null && by <= now;
    // While it is frozen, nobody knows when that ends.
    const next = by ?? (isFrozen ? now + PAUSED_AGAIN_MS : null);
    moved.push({ id, checkAt: isDown ? now + LATE_AGAIN_MS : next });
    if (!isDown) return { subject, isDown, detail: inTimeText(definition, by) };
    const { lastSuccess } = definition;
    const last =
      lastSuccess === null
        ? 'it has not succeeded yet'
        : `the last was for ${utcText(new Date(lastSuccess))}`;
    return { subject, isDown, detail: `a success was expected by ${utcText(new Date(by))}, and ${last}` };
  });
  await moveWatches(session, moved);
  await endWatches(
    session,
    due.filter(({ isActive, isGone }) => !isActive && isGone).map(({ id }) => id),
  );
  return { observations, hasMore: due.length === MAX_WATCHES };
}

function inTimeText({ lastSuccess, begunAt }: WatchedDefinition, by: number | null): string {
  if (lastSuccess !== null && lastSuccess > begunAt) return 'it has succeeded';
  return by === null
    ? 'no success is expected any more'
    : `it was changed or resumed; a success is expected by ${utcText(new Date(by))}`;
}

function expectedByOf(
  definition: WatchedDefinition,
  exceptions: readonly Exception[],
  frozen: readonly FrozenSpan[],
): number | null {
  const schedule = workingSchedule(definition);
  if (schedule === null) return null;
  const { expect_within_ms: withinMs, jitter_ms: jitterMs, begunAt, lastSuccess, endedAt } = definition;
  const [window, outsideWindow] = [windowOf(definition), definition.outside_window];
  const watched = {
    withinMs: withinMs ?? 0,
    jitterMs,
    begunAt,
    lastSuccess,
    endedAt,
    frozen,
    window,
    outsideWindow,
  };
  return expectedBy(schedule, watched, exceptions);
}
