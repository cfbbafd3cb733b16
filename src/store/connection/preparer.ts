// Names of prepared statements, so that PostgreSQL plans each of them once for a connection.
// In: a statement's text, and how to run it by name. Out: what it returned; other names once the tables have
// grown.

import { createHash } from 'node:crypto';
import type { Clock } from '../../model/clock.js';
import { isUnknownStatement, isUnsupported } from './errors.js';

/** Runs a statement by the name that it is given, or without one. */
export type Prepare = <T>(text: string, run: (name: string | null) => Promise<T>) => Promise<T>;

/** Bytes of the tables that statements are planned for. */
export interface TableSizes {
  readonly runs: number;
  readonly slots: number;
}

/** From its sixth execution on, PostgreSQL keeps a plan. */
const EXECUTIONS_BEFORE_PLAN = 5;
/** The sizes are read after so many slow executions: a single one may have waited for the network. */
const SLOW_MS = 5;
const SLOW_COUNT = 5;
const CHECK_EVERY_MS = 1000;
/** For a smaller table, any plan is good. */
const SMALL_RUNS = 2 ** 20;
const SMALL_SLOTS = 2 ** 17;
const GROWTH = 64;

/**
 * Runs statements by name. A pooler that gives each transaction another connection may lack a name, or have
 * it already: then nothing was executed, and this process stops using names.
 *
 * After a column's type was altered, PostgreSQL refuses earlier prepared statements on each connection
 * ("cached plan must not change result type"): then the statement is prepared again under another name.
 *
 * A plan that was made while a table was nearly empty reads all of it, and PostgreSQL keeps that plan until
 * autovacuum has come. So where statements take long, the sizes of the tables are read, once a second at
 * most; if they have grown, all statements get other names, and with them new plans.
 *
 * @param readSizes of the tables now; an error means nothing
 */
export function createPreparer(
  readSizes: () => Promise<TableSizes | undefined>,
  clock: Pick<Clock, 'now'>,
): Prepare {
  const names = new Map<string, string>();
  const executions = new Map<string, number>();
  let mayPrepare = true;
  let renamed = 0;
  let planned: readonly number[] | null = null;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let slow = 0;

  const nameOf = (text: string) => {
    let name = names.get(text);
    if (name === undefined) {
      const hash = createHash('sha256').update(text).digest('hex').slice(0, 24);
      name = renamed === 0 ? `tock_${hash}` : `tock_${hash}_${renamed}`;
      names.set(text, name);
    }
    return name;
  };
  const checkSizes = () => {
    checkedAt = clock.now();
    slow = 0;
    readSizes().then(
      sizes => {
        if (!sizes) return;
        const found = classesOf(sizes);
        const grown = planned?.some((size, index) => (found[index] ?? 0) > size);
        if (grown) {
          renamed++;
          names.clear();
        }
        if (planned === null || grown) planned = found;
      },
      () => undefined,
    );
  };
  /** The sizes are read before the first plan is kept, and then where statements take long. */
  const recordDuration = (name: string, ms: number) => {
    if (planned !== null || checkedAt > Number.NEGATIVE_INFINITY) {
      if (ms >= SLOW_MS) slow++;
      if (slow >= SLOW_COUNT && clock.now() - checkedAt >= CHECK_EVERY_MS) checkSizes();
      return;
    }
    const count = (executions.get(name) ?? 0) + 1;
    executions.set(name, count);
    if (count >= EXECUTIONS_BEFORE_PLAN) checkSizes();
  };

  return async (text, run) => {
    if (!mayPrepare) return await run(null);
    const name = nameOf(text);
    const began = clock.now();
    try {
      const answer = await run(name);
      recordDuration(name, clock.now() - began);
      return answer;
    } catch (error) {
      if (isUnknownStatement(error)) mayPrepare = false;
      else if (!isUnsupported(error)) throw error;
      else if (names.get(text) === name) {
        renamed++;
        names.delete(text);
      }
      return await run(null);
    }
  };
}

const classesOf = ({ runs, slots }: TableSizes) => [classOf(runs / SMALL_RUNS), classOf(slots / SMALL_SLOTS)];

/** 0 for a small table; one more for each growth by {@link GROWTH}. */
const classOf = (size: number) => (size < 1 ? 0 : 1 + Math.floor(Math.log(size) / Math.log(GROWTH)));
