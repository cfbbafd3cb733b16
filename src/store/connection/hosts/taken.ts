// When a kept connection was last taken: its pool does not know.
import type * as pg from 'pg';

const takenAt = new WeakMap<pg.PoolClient, number>();

export function noteTaken(client: pg.PoolClient): void {
  takenAt.set(client, performance.now());
}

/** By performance.now(); 0 for a connection that was not kept. */
export const lastTaken = (client: pg.PoolClient): number => takenAt.get(client) ?? 0;
