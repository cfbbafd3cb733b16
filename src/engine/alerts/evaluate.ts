// Evaluates the alerts: what is wrong now, what has flipped since, and which channels are to be notified.
// Each process that ticks or beats does this; one at a time, in one transaction.

import type { AlertState, Change, FlipKind } from '../../model/alerts/judge.js';
import { judge, mutedBy } from '../../model/alerts/judge.js';
import type { Alerting } from '../../model/alerts/read-alerts.js';
import { lineOfParts } from '../../model/run/errors/root-cause.js';
import {
  forgetFlips,
  lockAlertClock,
  moveAlertClock,
  readAlertStates,
  readLastErrors,
  readMutes,
  takeAlertEvents,
} from '../../store/alerts/evaluation.js';
import { enqueueDeliveries, type WrittenChange, writeChanges } from '../../store/alerts/flips.js';
import type { Session } from '../../store/connection/database.js';
import type { Engine } from '../engine.js';
import { DELIVERY_ATTEMPTS } from './delivery-job.js';
import { type Gathered, gather } from './gather.js';

const MAX_EVENTS = 2000;
const MAX_ROUNDS = 10;
const MAX_DOWN = 5000;
const MAX_FORGOTTEN = 100;
/** How soon to look again: while something is down, with the next tick; and otherwise. */
const SOON_MS = 50_000;
const LATE_MS = 3_600_000;
/** Longer than reminders are apart, which another process may send. */
const UNRULED_AFTER_MS = 2 * 86_400_000;

/** A flip, for the log. */
interface Flip {
  readonly rule: string;
  readonly subject: string;
  readonly kind: FlipKind;
  readonly detail: string;
}

/**
 * Evaluates the rules of this process, unless another process does so at this moment. Never throws: what
 * fails is logged, and tried again by the next tick.
 * @returns how many alerts flipped
 */
export async function evaluateAlerts(engine: Engine): Promise<number> {
  const { alerting, logger } = engine;
  if (alerting === undefined || alerting.rules.length === 0) return 0;
  try {
    return await evaluateOrThrow(engine);
  } catch (error) {
    logger.warn(
      { event: 'alerts.failed', error: String(error) },
      `the alerts could not be evaluated: ${String(error)}; the next tick tries again`,
    );
    return 0;
  }
}

/** @throws what the database refuses */
async function evaluateOrThrow({ database, alerting, logger }: Engine): Promise<number> {
  if (alerting === undefined || alerting.rules.length === 0) return 0;
  let total = 0;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { flips, hasMore } = await database.transaction(session =>
      evaluateOnce(session, alerting, round > 0),
    );
    for (const { detail, kind, rule, subject } of flips)
      logger[kind === 'up' ? 'info' : 'warn'](
        { event: `alert.${kind}`, rule, subject, detail },
        `alert ${rule} of ${subject}: ${kind === 'up' ? 'recovered' : 'down'}: ${detail}`,
      );
    total += flips.length;
    if (!hasMore) break;
  }
  return total;
}

async function evaluateOnce(
  session: Session,
  alerting: Alerting,
  isAgain: boolean,
): Promise<{ flips: readonly Flip[]; hasMore: boolean }> {
  const now = await lockAlertClock(session, isAgain);
  if (now === null) return { flips: [], hasMore: false };
  const events = await takeAlertEvents.run(session, { limit: MAX_EVENTS });
  const gathered = await gather(session, alerting, events, now);
  const states = await readAlertStates.run(session, {
    rules: alerting.rules.map(rule => rule.name),
    subjects: [...gathered.subjects],
    limit: MAX_DOWN,
  });
  const muted = new Set((await readMutes.run(session, {})).map(row => row.name));
  const changes = await describeErrors(
    session,
    await decide(session, alerting, gathered, { states, muted, now }),
  );
  const won = await writeChanges(session, changes, now);
  const changeOf = new Map(changes.map(change => [keyOf(change.state), change]));
  const channelsOf = new Map(alerting.rules.map(rule => [rule.name, rule.channels]));
  const deliveries = won.flatMap(flip =>
    changeOf.get(keyOf(flip))?.isNotified === true
      ? (channelsOf.get(flip.rule) ?? []).map(channel => ({ flipId: flip.id, channel }))
      : [],
  );
  await enqueueDeliveries(session, deliveries, DELIVERY_ATTEMPTS);
  const isDown = (state: AlertState) => state.status === 'down' && channelsOf.has(state.rule);
  const isAnyDown = changes.some(({ state }) => isDown(state)) || states.some(isDown);
  await moveAlertClock.run(session, { inMs: isAnyDown ? SOON_MS : LATE_MS });
  await forgetFlips.run(session, { limit: MAX_FORGOTTEN });
  return {
    flips: won.map(flip => ({ ...flip, detail: changeOf.get(keyOf(flip))?.state.detail ?? '' })),
    hasMore: events.length === MAX_EVENTS || gathered.hasMore,
  };
}

const keyOf = ({ rule, subject }: { readonly rule: string; readonly subject: string }) =>
  `${rule}\n${subject}`;

interface Known {
  readonly states: readonly AlertState[];
  readonly muted: ReadonlySet<string>;
  readonly now: number;
}

async function decide(
  session: Session,
  alerting: Alerting,
  gathered: Gathered,
  { states, muted, now }: Known,
): Promise<WrittenChange[]> {
  const changes: WrittenChange[] = [];
  for (const rule of alerting.rules) {
    const ofRule = new Map(
      states.filter(state => state.rule === rule.name).map(state => [state.subject, state]),
    );
    for (const seen of await gathered.observe(session, rule, [...ofRule.values()])) {
      const isMuted = mutedBy(rule, seen.subject).some(name => muted.has(name));
      const options = { rule: rule.name, remindMs: rule.remindMs, isMuted, now };
      const change = judge(ofRule.get(seen.subject) ?? null, seen, options);
      if (change !== null) changes.push({ ...change, condition: rule.when });
    }
  }
  const names = new Set(alerting.rules.map(rule => rule.name));
  for (const state of states) {
    const change = state.status === 'up' || names.has(state.rule) ? null : unruled(state, now);
    if (change !== null) changes.push({ ...change, condition: state.rule });
  }
  return changes;
}

/** Of a rule that this process does not have: after two days without a notification, no process has it. */
function unruled(state: AlertState, now: number): Change | null {
  if (now - Math.max(state.since, state.notifiedAt ?? 0) < UNRULED_AFTER_MS) return null;
  const seen = { subject: state.subject, isDown: false, detail: 'there is no such rule any more', job: null };
  return judge(state, seen, { rule: state.rule, remindMs: null, isMuted: true, now });
}

/** Adds the error of the failed run to what is sent. */
async function describeErrors(session: Session, changes: WrittenChange[]): Promise<WrittenChange[]> {
  const isOfRun = ({ flip, condition }: WrittenChange) =>
    (flip === 'down' || flip === 'reminder') && (condition === 'failing' || condition === 'dead');
  const ids = changes.flatMap(change => (isOfRun(change) ? (change.state.runId ?? []) : []));
  if (ids.length === 0) return changes;
  const errors = new Map(
    (await readLastErrors.run(session, { ids })).map(row => [row.id, lineOfParts(row.error)]),
  );
  return changes.map(change => {
    const error = isOfRun(change) ? errors.get(change.state.runId ?? '') : undefined;
    if (error === undefined || change.state.detail.includes(error.slice(0, 50))) return change;
    const detail = `${change.state.detail}: ${error}`.replaceAll(/\s+/g, ' ').slice(0, 500).toWellFormed();
    return { ...change, state: { ...change.state, detail } };
  });
}
