// Cursors on their way to the database: none is lost where an attempt ends meanwhile.
import { describe, expect, it } from 'vitest';
import { type ActiveRun, activeRun } from '../../../src/engine/execute/active-run.js';
import { startHeartbeat } from '../../../src/engine/worker/heartbeat.js';
import { flushCursors } from '../../../src/engine/worker/reports.js';
import type { Database } from '../../../src/store/connection/database.js';
import { engineOver } from '../../support/engine.js';
import { createVirtualClock } from '../../support/virtual-clock.js';

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
  const clock = createVirtualClock();
  return { sent, clock, engine: engineOver({ run } as unknown as Database, [], { clock }) };
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

it('the cursors and the progress of a worker are reported by one statement each at a time, which may hang', async () => {
  const { sent, clock, engine } = openStatements();
  const active = running();
  active.progress = { fraction: 0.5, stage: null, events: 1 };
  const heartbeat = startHeartbeat(engine, 'w', new Set([active]), async () => undefined);
  for (let second = 0; second < 3; second++) clock.pass(1000);
  expect(sent).toHaveLength(2);
  for (const { resolve } of sent) resolve();
  await new Promise(resolve => setImmediate(resolve));
  active.cursors = new Map([['rows', '{"n":2,"value":20}']]);
  clock.pass(1000);
  expect(sent).toHaveLength(3);
  heartbeat.stop();
});
