// What is mutated, and by which tests each mutant must be found out.
// In: nothing. Out: areas, each with its sources and its test files, the quick ones first.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './mutants.mjs';

/** The areas whose score is held. */
export const AREAS = [
  {
    name: 'decide',
    sources: [
      'src/model/run/decide.ts',
      'src/model/run/states.ts',
      'src/model/run/retry.ts',
      'src/model/run/limits.ts',
    ],
    tests: [
      'test/model/run/decide.test.ts',
      'test/model/run/states.test.ts',
      'test/model/run/retry.test.ts',
      'test/model/run/limits.test.ts',
      'test/store/runs/states.test.ts',
    ],
  },
  {
    name: 'claim',
    sources: [
      'src/engine/claim/prefetch.ts',
      'src/engine/claim/claims.ts',
      'src/engine/worker/worker.ts',
      'src/store/runs/claim/claim.ts',
      'src/engine/claim/watermarks.ts',
      'src/store/runs/claim/queue-lanes.ts',
      'src/store/runs/claim/claimed-run.ts',
      'src/store/runs/claim/admit.ts',
      'src/store/runs/claim/unblock.ts',
    ],
    tests: [
      'test/store/runs/claim/claim.test.ts',
      'test/store/runs/claim/claimed-run.test.ts',
      'test/store/runs/claim/admit.test.ts',
      'test/store/schema/plans.check.test.ts',
      'test/engine/claim/claimable.test.ts',
      'test/engine/claim/claims.test.ts',
      'test/engine/worker/fill.test.ts',
      'test/engine/claim/watermarks.test.ts',
      'test/scenarios/leases.test.ts',
      'test/engine/claim/named-lane.test.ts',
      'test/scenarios/windows.test.ts',
      'test/scenarios/run-transitions.test.ts',
      'test/scenarios/concurrency-limits.check.test.ts',
      'test/scenarios/overlap.test.ts',
      'test/engine/worker/worker.test.ts',
      'test/engine/worker/way-of-runs.check.test.ts',
      'test/engine/run-tick.test.ts',
      'test/engine/execute/effects.test.ts',
      'test/engine/execute/crash.test.ts',
      'test/scenarios/server-refuses-writes.check.test.ts',
      'test/scenarios/bad-rows.check.test.ts',
      'test/scenarios/hostile-notifications.check.test.ts',
      'test/daemon/daemon.check.test.ts',
      'test/chaos/over-lock.test.ts',
    ],
  },
  {
    name: 'finalize',
    sources: [
      'src/engine/worker/outcomes.ts',
      'src/store/runs/finalize.ts',
      'src/store/runs/finish.ts',
      'src/store/runs/give-back.ts',
      'src/store/runs/leases.ts',
      'src/store/runs/transition.ts',
    ],
    tests: [
      'test/store/runs/finalize.test.ts',
      'test/store/runs/leases.test.ts',
      'test/store/runs/transition.test.ts',
      'test/store/schema/plans.check.test.ts',
      'test/engine/worker/outcomes.test.ts',
      'test/engine/worker/outcomes-gather.test.ts',
      'test/store/runs/hand-off.test.ts',
      'test/engine/alerts/conditions.check.test.ts',
      'test/engine/tracing.test.ts',
      'test/scenarios/successor-ends.test.ts',
      'test/scenarios/run-transitions.test.ts',
      'test/scenarios/server-refuses-writes.check.test.ts',
      'test/scenarios/leases.test.ts',
      'test/scenarios/windows.test.ts',
      'test/scenarios/concurrency-limits.check.test.ts',
      'test/engine/worker/way-of-runs.check.test.ts',
      'test/engine/execute/effects.test.ts',
      'test/engine/materialize/follow-chains.test.ts',
      'test/engine/execute/crash.test.ts',
      'test/scenarios/bad-rows.check.test.ts',
      'test/daemon/pools.check.test.ts',
      'test/chaos/inputs.test.ts',
      'test/chaos/deadlock.test.ts',
      'test/chaos/connection.test.ts',
    ],
  },
  {
    name: 'reap',
    sources: ['src/engine/reap.ts', 'src/store/runs/reap/reap.ts', 'src/store/runs/reap/reapable.ts'],
    tests: [
      'test/store/runs/reap/reap.test.ts',
      'test/store/schema/plans.check.test.ts',
      'test/engine/reap.test.ts',
      'test/scenarios/leases.test.ts',
      'test/scenarios/concurrency-limits.check.test.ts',
      'test/engine/materialize/follow-chains.test.ts',
      'test/engine/execute/crash.test.ts',
      'test/scenarios/server-refuses-writes.check.test.ts',
      'test/scenarios/bad-rows.check.test.ts',
      'test/engine/finalize/hooks.test.ts',
      'test/engine/run-tick.test.ts',
      'test/engine/idle-tick.test.ts',
      'test/store/runs/hand-off.test.ts',
      'test/engine/execute/hand-off.test.ts',
      'test/scenarios/two-versions.check.test.ts',
    ],
  },
  {
    name: 'materialize',
    sources: [
      'src/engine/materialize/materialize.ts',
      'src/engine/materialize/planned.ts',
      'src/engine/materialize/occurrence-rows.ts',
      'src/store/definitions/due.ts',
      'src/store/runs/materialize.ts',
      'src/store/runs/enqueue/enqueue.ts',
    ],
    tests: [
      'test/store/schema/plans.check.test.ts',
      'test/engine/materialize/occurrence-rows.test.ts',
      'test/store/runs/materialize.test.ts',
      'test/engine/materialize/materialize.test.ts',
      'test/engine/bounded-steps.test.ts',
      'test/scenarios/overlap.test.ts',
      'test/engine/definitions/register.test.ts',
      'test/engine/definitions/schedules.test.ts',
      'test/engine/definitions/pause.test.ts',
      'test/scenarios/schedule-edges.test.ts',
      'test/scenarios/windows.test.ts',
      'test/engine/materialize/follow-chains.test.ts',
      'test/engine/enqueue.test.ts',
      'test/engine/enqueue-many.test.ts',
      'test/scenarios/unique-keys.test.ts',
      'test/scenarios/bad-rows.check.test.ts',
      'test/scenarios/clock-set-back.check.test.ts',
      'test/scenarios/key-spaces.test.ts',
    ],
  },
  {
    name: 'effects',
    sources: [
      'src/engine/execute/effects.ts',
      'src/store/runs/effects.ts',
      'src/engine/worker/heartbeat.ts',
      'src/engine/execute/execute.ts',
    ],
    tests: [
      'test/engine/execute/execute.test.ts',
      'test/engine/execute/effects.test.ts',
      'test/engine/worker/heartbeat.test.ts',
      'test/scenarios/leases.test.ts',
      'test/scenarios/run-transitions.test.ts',
      'test/scenarios/concurrency-limits.check.test.ts',
      'test/scenarios/windows.test.ts',
      'test/engine/worker/way-of-runs.check.test.ts',
      'test/scenarios/server-refuses-writes.check.test.ts',
      'test/engine/execute/crash.test.ts',
      'test/scenarios/hostile-notifications.check.test.ts',
      'test/engine/tracing.test.ts',
      'test/engine/relay/relay.check.test.ts',
      'test/daemon/daemon.check.test.ts',
      'test/chaos/connection.test.ts',
    ],
  },
];

const filesOf = (folder, ending) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith(ending))
    .map(name => path.join(folder, name))
    .sort();

/** The rest of model, store and engine, a room each: for --all. */
export function rooms() {
  const held = new Set(AREAS.flatMap(area => area.sources));
  return ['model', 'store', 'engine'].map(room => ({
    name: `${room}, the rest`,
    sources: filesOf(`src/${room}`, '.ts').filter(file => !held.has(file)),
    tests: [
      ...filesOf(`test/${room}`, '.test.ts'),
      ...(room === 'store' ? filesOf('test/engine', '.test.ts') : []),
    ],
  }));
}
