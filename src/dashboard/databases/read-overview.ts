// What the page of all databases shows of each.

import { type Frame, type LiveFigures, readFrame, readLiveFigures } from '../../answers/now/figures.js';
import { openReadSession, type ReadSession } from '../../answers/reads.js';
import type { Health } from '../../model/health.js';
import { databaseOf } from '../../tock/database-of.js';
import type { Tock } from '../../tock/types.js';
import { cached } from '../cached.js';
import { explainError } from '../explain-error.js';

export interface NamedTock {
  readonly name: string;
  readonly tock: Tock;
}

/** What one database answered, or why it did not. */
export type DatabaseView = { readonly name: string } & (
  | { readonly figures: DatabaseFigures; readonly problem: null }
  | { readonly figures: null; readonly problem: string }
);

export interface DatabaseFigures {
  readonly health: Health;
  readonly frame: Frame;
  readonly live: LiveFigures;
}

/** All readers of the page share what is read. */
const MAX_AGE_MS = 2000;
/** Beyond it the others are shown without it. */
const PATIENCE_MS = 3000;

export interface OverviewReader {
  /** In the order of the databases. */
  readonly read: () => Promise<readonly DatabaseView[]>;
  readonly close: () => Promise<void>;
}

/** Connects with the first reading. One that is away keeps no other from being shown. */
export function createOverviewReader(databases: readonly NamedTock[]): OverviewReader {
  const readers = databases.map(createReader);
  const read = cached(
    MAX_AGE_MS,
    async () => await Promise.all(readers.map(async each => await each.read())),
  );
  return {
    read: async () => await read(null),
    close: async () => {
      await Promise.all(readers.map(async each => await each.close()));
    },
  };
}

function createReader({ name, tock }: NamedTock) {
  let session: ReadSession | null = null;
  const ask = async (): Promise<DatabaseFigures> => {
    session ??= openReadSession(await databaseOf(tock));
    const [health, frame, live] = await Promise.all([
      tock.health(),
      readFrame(session),
      readLiveFigures(session, 0),
    ]);
    return { health, frame, live };
  };
  return {
    read: async (): Promise<DatabaseView> => {
      try {
        return { name, figures: await within(PATIENCE_MS, ask()), problem: null };
      } catch (error) {
        const problem = error === LATE ? LATE.message : explainError(error).message;
        // Its address stands in a list, not in DATABASE_URL.
        return { name, figures: null, problem: problem.replace('DATABASE_URL', 'its address') };
      }
    },
    close: async () => await session?.close(),
  };
}

const LATE = new Error(`It has not answered within ${PATIENCE_MS / 1000} seconds.`);

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(LATE), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
