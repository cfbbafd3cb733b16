// Completes runs that were handed off, as another system or an operator says. The functions of the schema
// decide; a tick or a daemon writes the outcome.
import { formatDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { isWithinYears } from '../../model/instant-bounds.js';
import type { QueryClient } from '../../model/job/enqueue-options.js';
import { readLease } from '../../model/job/hand-off.js';
import type { CompleteOptions, FailOptions } from '../../model/job/hand-off-methods.js';
import { completionText } from '../../model/job/payload/payload.js';
import { quote, storableNote } from '../../model/names.js';
import { describeError } from '../../model/run/sanitize.js';
import type { Session } from '../../store/connection/database.js';
import { messageOf, sqlState } from '../../store/connection/errors.js';
import { getRun } from '../../store/reads/runs.js';
import * as calls from '../../store/runs/hand-off/calls.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { sessionOfClient } from '../enqueue.js';

const MAX_FENCE = 2 ** 31 - 1;

/** Whatever comes from outside and names no run is too late, or forged: the same answer. */
function named(id: unknown, fence: unknown): calls.HandedRun | null {
  if (typeof id !== 'string' || !/^\d{1,18}$/.test(id)) return null;
  if (typeof fence !== 'number' || !Number.isInteger(fence) || fence < 1 || fence > MAX_FENCE) return null;
  return { id, fence };
}

export async function complete(
  engine: Engine,
  id: string,
  fence: number,
  result: unknown,
  { client, note }: CompleteOptions = {},
): Promise<boolean> {
  const run = named(id, fence);
  const text = completionText(result);
  return (
    run !== null &&
    (await acted(engine, client, 'complete', run, { note: storableNote(note) ?? undefined }, session =>
      calls.complete.first(session, { ...run, result: text }),
    ))
  );
}

export async function fail(
  engine: Engine,
  id: string,
  fence: number,
  error: unknown,
  { retry = true, retryAt, client }: FailOptions = {},
): Promise<boolean> {
  const run = named(id, fence);
  const failing = { ...described(error), isRetried: retry, retryAt: timeOf(retryAt, retry) };
  const details = { reason: storableNote(failing.message) ?? undefined, retry };
  return (
    run !== null &&
    (await acted(engine, client, 'fail', run, details, session =>
      calls.fail.first(session, { ...run, ...failing }).catch(refusedTime),
    ))
  );
}

export async function extend(
  engine: Engine,
  id: string,
  fence: number,
  lease: string | number,
): Promise<boolean> {
  const run = named(id, fence);
  const leaseMs = readLease(lease);
  return (
    run !== null &&
    (await acted(engine, undefined, 'extend', run, { lease: formatDuration(leaseMs) }, session =>
      calls.extend.first(session, { ...run, leaseMs }),
    ))
  );
}

export async function progress(
  engine: Engine,
  id: string,
  fence: number,
  fraction: number,
  stage: string | null = null,
): Promise<boolean> {
  const run = named(id, fence);
  if (typeof fraction !== 'number' || Number.isNaN(fraction))
    throw new TockError('TOCK_BAD_OPTION', `fraction ${quote(fraction)} is not a number from 0 to 1`);
  if (run === null) return false;
  const answer = await calls.progress.first(engine.database, {
    ...run,
    fraction,
    stage: storableNote(stage ?? undefined),
  });
  return answer?.held === true;
}

/** What an app says by itself is no operator's action. */
async function acted(
  engine: Engine,
  client: QueryClient | undefined,
  action: 'complete' | 'fail' | 'extend',
  run: calls.HandedRun,
  facts: Readonly<Record<string, string | boolean | undefined>>,
  call: (session: Session) => Promise<{ readonly held: boolean } | undefined>,
): Promise<boolean> {
  const act = async (session: Session) => (await call(session))?.held === true;
  const own = client === undefined ? null : sessionOfClient(engine, client);
  if (engine.operator === null) return await act(own ?? engine.database);
  const actAudited = async (session: Session) => {
    const isHeld = await act(session);
    const job = (isHeld && (await getRun(session, run.id))?.job) || undefined;
    await audit(session, engine, {
      action,
      targets: [run.id],
      count: isHeld ? 1 : 0,
      details: { job, ...facts },
    });
    return isHeld;
  };
  return own === null ? await engine.database.transaction(actAudited) : await actAudited(own);
}

/** A text is the message. */
function described(error: unknown): { readonly message: string; readonly details: string | null } {
  if (typeof error === 'string') return { message: requireMessage(storableNote(error) ?? ''), details: null };
  const { message, name, code, stack } = describeError(error, 0);
  return { message: requireMessage(message || name), details: JSON.stringify({ name, code, stack }) };
}

function requireMessage(message: string): string {
  if (message.trim() !== '') return message;
  throw new TockError('TOCK_BAD_OPTION', 'the error is empty: say why the run has failed');
}

/** By the database's clock, which the functions of the schema ask. */
function refusedTime(error: unknown): never {
  throw sqlState(error) === '22023'
    ? new TockError('TOCK_BAD_TIME', messageOf(error), { cause: error })
    : error;
}

function timeOf(at: Date | string | undefined, isRetried: boolean): string | null {
  if (at === undefined) return null;
  if (!isRetried)
    throw new TockError(
      'TOCK_BAD_OPTION',
      'retryAt is for a run that is retried: leave out retryAt, or retry: false',
    );
  const time = new Date(at).getTime();
  if (isWithinYears(time)) return new Date(time).toISOString();
  throw new TockError('TOCK_BAD_TIME', `retryAt ${quote(at)} is not a time; pass a Date, or ISO text`);
}
