// Executes claimed runs, and reads large payloads first, of which memory holds only so many.
//
// A claim brings no large payload: it would be undone if the process ended for want of memory, and made
// again, for ever. Here the attempt is counted already.
import { TockError } from '../../model/errors.js';
import type { Ending } from '../../model/run/decide.js';
import { isTransient } from '../../store/connection/errors.js';
import { type LargePayload, readLargePayload } from '../../store/runs/large-payload.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from './active-run.js';
import { NOT_STARTED } from './endings.js';
import { executeRun } from './execute.js';
import { createRoom } from './room.js';

/** Bytes of text of large payloads that are at work at once; parsed, they take several times as much. */
const MAX_HELD = 32 * 1024 * 1024;
/** PostgreSQL writes JSON with spaces, which do not count against `maxPayloadBytes`. */
const SPACED = 2;

type OnEnd = (ending: Ending | null) => void;

/** A large payload was read: `unload` gives up its memory. Or how the attempt ends without it. */
type Loaded = { readonly unload: () => void } | { readonly ending: Ending | null };

export interface Executor {
  /** As {@link executeRun}, which must not be called with a run whose payload is still to be read. */
  readonly execute: (active: ActiveRun, onEnd: OnEnd) => void;
  /** Reads the large payload of a run, once there is room for it. Never rejects. */
  readonly load: (active: ActiveRun) => Promise<Loaded>;
}

export function createExecutor(engine: Engine, workerId: string): Executor {
  const room = createRoom(MAX_HELD);
  const { maxPayloadBytes } = engine.settings;
  const most = SPACED * maxPayloadBytes;

  const read = async (active: ActiveRun): Promise<LargePayload | null> => {
    const payload = await readLargePayload(engine.database, active.run, most);
    if (payload?.text !== null) return payload;
    throw new TockError(
      'TOCK_BAD_PAYLOAD',
      `the payload has ${payload.bytes} bytes, over the limit of this worker (maxPayloadBytes ${maxPayloadBytes}): store the data in a table and pass its id, or raise the limit`,
    );
  };

  const load = async (active: ActiveRun): Promise<Loaded> => {
    const { run } = active;
    let held = most;
    await room.take(held);
    const unload = () => {
      // Its outcome may wait to be written for long.
      active.run = run;
      room.give(held);
    };
    const without = (ending: Ending | null): Loaded => {
      unload();
      return { ending };
    };
    // Cancelled or drained while it waited: its attempt ends without its payload.
    if (active.interrupt.isAborted) return { unload };
    try {
      const payload = await read(active);
      if (payload === null) return without(null);
      const text = payload.text ?? '';
      room.give(held - payload.bytes);
      held = payload.bytes;
      active.run = { ...run, payload: JSON.parse(text), payload_length: text.length };
      return { unload };
    } catch (error) {
      // A database that is away says nothing about the run: it is given back.
      return without(isTransient(error) ? NOT_STARTED : { kind: 'threw', error });
    }
  };

  const executeLarge = async (active: ActiveRun, onEnd: OnEnd): Promise<void> => {
    const loaded = await load(active);
    if ('ending' in loaded) return onEnd(loaded.ending);
    executeRun(engine, active, workerId, ending => {
      loaded.unload();
      onEnd(ending);
    });
  };

  return {
    load,
    execute: (active, onEnd) => {
      if (active.run.is_large) void executeLarge(active, onEnd);
      else executeRun(engine, active, workerId, onEnd);
    },
  };
}
