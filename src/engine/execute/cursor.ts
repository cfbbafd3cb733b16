// How far a handler has come (ctx.cursor), kept for its next attempt. Advancing costs no statement: the last
// value is written with the attempt's reports, or at the end of the handler's transaction that is open: a
// report that comes meanwhile does not wait for it.
//
// { n: 7, value: 70000 }   `n` grows, so that a report which is late changes nothing
import { TockError } from '../../model/errors.js';
import type { JobTransaction } from '../../model/job/job-database.js';
import { resultText } from '../../model/job/payload/payload.js';
import type { Cursor, CursorOptions } from '../../model/job/wait-methods.js';
import { isStorable, quote } from '../../model/names.js';
import { isTransient } from '../../store/connection/errors.js';
import { readEffect } from '../../store/runs/effects.js';
import type { Engine } from '../engine.js';
import { retryUntil } from '../finalize/retry-until.js';
import type { ActiveRun } from './active-run.js';

/** What a transaction keeps of the cursors that were advanced in it, and what to undo if it rolls back. */
export interface AdvancedCursors {
  /** By their keys, as {@link ActiveRun.cursors}. */
  readonly cursors: Map<string, string>;
  readonly undo: (() => void)[];
}

/** The transactions of ctx.once and ctx.transaction in which a handler is at work. */
export type OpenTransactions = Map<JobTransaction, AdvancedCursors>;

export function openCursors(engine: Engine, active: ActiveRun, open: OpenTransactions) {
  const { id } = active.run;
  const names = new Set<string>();

  return async <T>(name: string, initial: T): Promise<Cursor<T>> => {
    const key = `cursor:${id}:${checkEffectKey(name)}`;
    const what = `cursor ${quote(name)}`;
    if (names.has(name))
      throw new TockError('TOCK_BAD_STATE', `${what} is open already: keep what ctx.cursor returned`);
    names.add(name);
    const kept = await retryUntil(
      engine.clock,
      () => readEffect.first(engine.database, { key }),
      error => isTransient(error) && !active.interrupt.isAborted,
    );
    const { n: first, value } = kept?.result
      ? JSON.parse(kept.result)
      : { n: 0, value: JSON.parse(resultText(initial, what) ?? 'null') };
    let [n, current]: [number, T] = [first, value];

    return {
      get value() {
        return current;
      },
      async advance(next, { client } = {}) {
        const text = resultText(next, what) ?? 'null';
        const transaction = transactionOf(open, client, what);
        const [before, result] = [current, `{"n":${n + 1},"value":${text}}`];
        n++;
        current = JSON.parse(text);
        if (transaction === null) {
          active.cursors ??= new Map();
          active.cursors.set(key, result);
          return;
        }
        transaction.cursors.set(key, result);
        transaction.undo.push(() => {
          current = before;
        });
      },
    };
  };
}

function transactionOf(open: OpenTransactions, client: CursorOptions['client'], what: string) {
  if (client !== undefined) {
    const named = open.get(client);
    if (named) return named;
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${what}: client is no transaction of ctx.once or ctx.transaction that is open`,
    );
  }
  if (open.size > 1)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${what} is advanced while ${open.size} transactions of the handler are open: pass the one that it belongs to, advance(next, { client: trx })`,
    );
  return open.values().next().value ?? null;
}

export function checkEffectKey(key: string): string {
  if (
    typeof key === 'string' &&
    isStorable(key) &&
    Buffer.byteLength(key) >= 1 &&
    Buffer.byteLength(key) <= 900
  )
    return key;
  throw new TockError(
    'TOCK_BAD_KEY',
    `${quote(key)} cannot be the key of an effect: it must have 1 to 900 bytes, without NUL`,
  );
}
