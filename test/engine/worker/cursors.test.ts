// Cursors on their way to the database: none is lost where an attempt ends meanwhile.
import { describe, expect, it } from 'vitest';
import { type ActiveRun, activeRun } from '../../../src/engine/execute/active-run.js';
import { flushCursors } from '../../../src/engine/worker/reports.js';
import type { Database } from '../../../src/store/connection/database.js';
import { engineOver } from '../../support/engine.js';

const running = (): ActiveRun => {
  const active = activeRun({ id: '1', fence: 1 } as ActiveRun['run'], 0);
  active.cursors = new Map([['rows', '{"n":1,"value":10}']]);
  return active;
};
/** Statements that are sent, and how each ends. */
const openStatements = () => {
  const sent: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  const run = () =>
    new Promise((resolve, reject) => sent.push({ resolve: () => resolve({ rows: [] }), reject }));
  return { sent, engine: engineOver({ run } as unknown as Database) };
};

describe('flushCursors', () => {
  it('keeps what is being written, so that the end of the attempt writes it too', async () => {
    const { sent, engine } = openStatements();
    const active = running();
    const beside = flushCursors(engine, 'w', [active]);
    const atEnd = flushCursors(engine, 'w', [active]);
    expect(sent).toHaveLength(2);
    for (const { resolve } of sent) resolve();
    await Promise.all([beside, atEnd]);
    expect(active.cursors).toBeNull();
  });

  it('keeps what was advanced meanwhile, and what could not be written', async () => {
    const { sent, engine } = openStatements();
    const active = running();
    const first = flushCursors(engine, 'w', [active]);
    active.cursors?.set('rows', '{"n":2,"value":20}');
    sent[0]?.resolve();
    await first;
    expect([...(active.cursors ?? [])]).toEqual([['rows', '{"n":2,"value":20}']]);
    const second = flushCursors(engine, 'w', [active]);
    sent[1]?.reject(Object.assign(new Error('away'), { code: '57P01' }));
    await second;
    expect(active.cursors?.size).toBe(1);
  });
});
