// Freeze and thaw. A freeze is a row that claims, polls and materializing look for: see
// store/definitions/freeze/frozen.ts, and docs/adr/0076.
//
//   freeze, commit          claims find nothing, nothing is due; leases, outcomes and reaping go on
//   its time, or thaw       without a ramp: claims find what waits at once
//                           with one: who thaws, or reaps, materializes what was missed; then one
//                           transaction gives all that waits a new time within the ramp, and ends the freeze

import { TockError } from '../../model/errors.js';
import {
  type Freeze,
  type FreezeOptions,
  type Frozen,
  freezeText,
  readFreezeNote,
  readRamp,
  type Thawed,
  type ThawOptions,
} from '../../model/freeze/freeze.js';
import { readEndTime } from '../../model/planning/end-time.js';
import { readNow } from '../../store/connection/clock.js';
import {
  closeFreeze,
  endFreezeRow,
  lockEndedFreeze,
  lockFreeze,
  readEndedFreeze,
  thawFreeze,
  writeFreeze,
} from '../../store/definitions/freeze/freezes.js';
import { spreadWaiting } from '../../store/runs/claim/spread.js';
import { notifyQueued } from '../../store/runs/outbox.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { materialize } from '../materialize/materialize.js';

/**
 * Freezes all hosts, or changes the freeze that holds: its end, its note, and the ramp if one is given.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME, TOCK_BAD_DURATION
 */
export async function freeze(engine: Engine, options: FreezeOptions): Promise<Frozen> {
  const { until, ramp } = options;
  if (until === undefined || until === null)
    throw new TockError(
      'TOCK_BAD_OPTION',
      "a freeze needs until, so that nobody has to remember it: a time, or a duration such as '20m'",
    );
  const note = readFreezeNote(options.note);
  const rampMs = ramp === undefined ? null : readRamp(ramp);
  const { database, logger, operator, appName } = engine;
  const frozen = await database.transaction(async session => {
    const now = await readNow(session);
    const end = readEndTime(until, now).toISOString();
    await closeFreeze(session);
    const before = await lockFreeze(session);
    const by = operator?.name ?? appName;
    const after = await writeFreeze(session, { until: end, rampMs, note, by });
    await audit(session, engine, {
      action: 'freeze',
      targets: [],
      count: 1,
      details: { ...detailsOf(after), wasUntil: before?.until.toISOString() },
    });
    return { ...after, before, now: new Date(now) };
  });
  const { now, ...result } = frozen;
  logger.info(
    { event: 'frozen', until: result.until.toISOString(), note },
    `everything is ${freezeText(result, now)}`,
  );
  return result;
}

/**
 * Ends the freeze before its time. With a ramp, resolves once what waits is spread over it; if this process
 * dies meanwhile, the next reaping does it. Where nothing is frozen, nothing happens.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
 */
export async function thaw(engine: Engine, { ramp }: ThawOptions = {}): Promise<Thawed> {
  const given = ramp === undefined ? null : readRamp(ramp);
  const ended = await engine.database.transaction(async session => {
    const held = await lockFreeze(session);
    if (held === null) return null;
    const rampMs = given ?? held.rampMs;
    await thawFreeze(session, rampMs);
    const details = { ...detailsOf({ ...held, rampMs }), beganAt: held.beganAt.toISOString() };
    await audit(session, engine, { action: 'thaw', targets: [], count: 1, details });
    return { ...held, rampMs };
  });
  if (ended === null) return { ended, rampMs: 0, spread: 0 };
  if (ended.rampMs > 0)
    return { ended, rampMs: ended.rampMs, spread: await endFreeze(engine, { waits: true }) };
  await reportThawed(engine, 0);
  return { ended, rampMs: 0, spread: 0 };
}

/**
 * For who reaps, and who thaws with a ramp: ends a freeze that is over by its time. One of several at once
 * spreads what waits; the others leave it to that one, or wait for its end. Returns how many runs this call
 * has spread; null: it has ended no freeze.
 */
export async function endFreeze(engine: Engine, { waits = false } = {}): Promise<number | null> {
  const { database } = engine;
  const over = await readEndedFreeze(database);
  if (over === null) return null;
  if (over.rampMs > 0) await materialize(engine, { dueBy: Date.parse(over.now) });
  const spread = await database.transaction(
    async session => {
      const held = await lockEndedFreeze(session, { waits });
      if (held === null) return null;
      const count =
        held.rampMs > 0 ? await spreadWaiting(session, { start: held.now, rampMs: held.rampMs }) : 0;
      await endFreezeRow(session);
      return count;
    },
    { mayTakeLong: true },
  );
  if (spread !== null) await reportThawed(engine, spread);
  return spread;
}

/** Daemons that sleep claim, and ask what has come due. */
async function reportThawed({ database, logger }: Engine, spread: number): Promise<void> {
  await notifyQueued(database);
  logger.info({ event: 'thawed', spread }, 'the freeze has ended');
}

const detailsOf = ({ until, note, rampMs }: Pick<Freeze, 'until' | 'note' | 'rampMs'>) => ({
  until: until.toISOString(),
  note,
  rampMs: rampMs === 0 ? undefined : rampMs,
});
