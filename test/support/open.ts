// Room: test support. What a test file works with: opened before each test or once, and closed again.
// In: how it is opened. Out: what stands for it in every test of the file, or of the `describe`.
import { afterEach, beforeAll, beforeEach } from 'vitest';
import type { Daemon } from '../../src/index.js';
import { openDatabase } from './database.js';
import type { Running } from './processes.js';
import { emptyTables } from './runs.js';
import { reuseTestTock } from './test-tock.js';

const CLOSERS = ['close', 'stop', 'drop', 'remove', 'end'] as const;
type Closer = (typeof CLOSERS)[number];
/** It has one of these methods. */
type Closable = { readonly [K in Closer]: Readonly<Record<K, () => unknown>> }[Closer];

/**
 * What `open` gives before each test. It is closed after the test, after all of the file's `afterEach`; what was opened
 * last is closed first.
 * @param prepare what is done with it before each test
 */
export function openForEach<T extends Closable>(
  open: () => T | Promise<T>,
  prepare?: (opened: T) => unknown,
): T {
  const { standIn, begin } = holder(open, prepare);
  beforeEach(begin);
  return standIn;
}

/** The same, opened once for all tests. */
export function openOnce<T extends Closable>(
  open: () => T | Promise<T>,
  prepare?: (opened: T) => unknown,
): T {
  const { standIn, begin } = holder(open, prepare);
  beforeAll(begin);
  return standIn;
}

/**
 * For tests of statements: a Tock for the whole file, its tables emptied and its clock set before each test; and a
 * database of the same. Who waits there for a lock that he should pass over gives up.
 */
export function storeTest(now: string, open = () => reuseTestTock()) {
  const test = openOnce(open);
  const database = openOnce(() => openDatabase({ connectionString: test.url, statementTimeoutMs: 30_000 }));
  beforeEach(async () => {
    await emptyTables(test);
    await test.setClock(now);
  });
  return { test, database };
}

/** A list of processes that tests have started: what is still running after a test is killed. */
export function killAfterEach(): Running[] {
  const running: Running[] = [];
  afterEach(() => {
    for (const { child } of running.splice(0)) child.kill('SIGKILL');
  });
  return running;
}

/** A list of daemons that tests have started: each is stopped after the test. */
export function stopAfterEach(): Daemon[] {
  const daemons: Daemon[] = [];
  afterEach(async () => void (await Promise.all(daemons.splice(0).map(each => each.stop()))));
  return daemons;
}

function holder<T extends Closable>(open: () => T | Promise<T>, prepare?: (opened: T) => unknown) {
  let current: T | undefined;
  const now = (): T => {
    if (current === undefined) throw new Error('not opened yet: a test or a hook may use it');
    return current;
  };
  // What a test uses is that of its own time, whatever it is.
  const standIn = new Proxy({} as T, {
    get(_, name) {
      const value: unknown = Reflect.get(now(), name);
      return typeof value === 'function' ? value.bind(now()) : value;
    },
    set: (_, name, value) => Reflect.set(now(), name, value),
    has: (_, name) => Reflect.has(now(), name),
    ownKeys: () => Reflect.ownKeys(now()),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(now(), name),
  });
  const begin = async () => {
    const opened = await open();
    current = opened;
    await prepare?.(opened);
    return () => close(opened);
  };
  return { standIn, begin };
}

async function close(opened: Closable): Promise<void> {
  for (const name of CLOSERS) {
    const closer = (opened as Partial<Record<Closer, () => unknown>>)[name];
    if (closer === undefined) continue;
    await closer.call(opened);
    return;
  }
}
