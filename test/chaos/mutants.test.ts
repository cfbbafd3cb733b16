// Chaos: the checker is checked. Tock with a fault built in must be found out by the history of an experiment.
// Found out elsewhere: a batch that is not sorted, and the claim's CTE, in test/scenarios/leases.test.ts and over-lock.test.ts.
import { describe, expect, it } from 'vitest';
import { type Alteration, runExperiment } from './history-experiment.js';
import { buildMutant, type Change, HEALTHY } from './mutant-build.js';
import { STORIES } from './stories.js';

interface Mutant {
  readonly name: string;
  readonly story: keyof typeof STORIES;
  readonly changes?: readonly Change[];
  /** Of functions of the schema. */
  readonly alterations?: readonly Alteration[];
  /** The invariants, one of which must be named. */
  readonly found: RegExp;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: 'no fence: a holder writes by id alone',
    story: 'wakesUp',
    changes: [
      {
        file: 'store/runs/transition.ts',
        from: '(:fences::integer[])[width_bucket(${run}.id, :ids::bigint[])] = ${run}.fence`',
        to: ':fences::integer[] is not null`',
      },
      {
        file: 'store/runs/transition.ts',
        from: 'and ${run}.locked_by = :workerId and ${run}.status',
        to: 'and ${run}.status',
      },
    ],
    found: /^I[134]/,
  },
  {
    name: 'the attempt is counted when it fails, not when it is claimed',
    story: 'ordinary',
    changes: [
      {
        file: 'store/runs/claim/claimed-run.ts',
        from: 'attempts = ${run}.attempts + 1, fence',
        to: 'attempts = ${run}.attempts, fence',
      },
      {
        file: 'store/runs/give-back.ts',
        from: `status = '\${TRANSITIONS.fail.to}',`,
        to: `status = '\${TRANSITIONS.fail.to}', attempts = r.attempts + 1,`,
      },
    ],
    found: /^I5/,
  },
  {
    name: 'the host’s clock decides what is due',
    story: 'ordinary',
    changes: [
      {
        file: 'store/runs/claim/queue-lanes.ts',
        from: '${run}.run_at <= tock.now()',
        to: '${run}.run_at <= clock_timestamp()',
      },
    ],
    found: /^I11/,
  },
  {
    name: 'no cursor: occurrences are computed from now',
    story: 'ordinary',
    changes: [
      {
        file: 'model/planning/plan-occurrences.ts',
        from: 'const first = schedule.next(definition.cursor_ms);',
        to: 'const first = schedule.next(Math.max(definition.cursor_ms, now - 30_000));',
      },
    ],
    found: /^I7/,
  },
  {
    name: 'no key: an occurrence is inserted whether it is there or not, and the cursor stays behind',
    story: 'ordinary',
    changes: [
      {
        file: 'store/runs/materialize.ts',
        from: 'planned join chosen on chosen.run_id = planned.id where',
        to: 'planned where',
      },
      {
        file: 'store/definitions/due.ts',
        from: 'set cursor = greatest(d.cursor, to_timestamp(u.cursor / 1000))',
        to: `set cursor = d.cursor + (to_timestamp(u.cursor / 1000) - d.cursor) / 2`,
      },
    ],
    found: /^I[67]/,
  },
  {
    name: 'the reaper does not wait for the end of the lease',
    story: 'ordinary',
    changes: [
      {
        file: 'store/runs/reap/reapable.ts',
        from: '${run}.locked_until < tock.now()',
        to: "${run}.locked_until < tock.now() + interval '1 hour'",
      },
    ],
    found: /^I2/,
  },
  {
    name: 'an effect and its row in the ledger are committed apart',
    story: 'ordinary',
    changes: [
      {
        file: 'engine/execute/effects.ts',
        from: 'resultText(await atWork(() => work(trx)), effect)',
        to: 'resultText(await work(database.handlers.db as never), effect)',
      },
    ],
    found: /^I9/,
  },
  {
    name: 'a run that ends dead is deleted and not kept',
    story: 'kills',
    changes: [
      {
        file: 'store/runs/reap/reap.ts',
        from: "insertFinished('gone r', {",
        to: "insertFinished('gone r where false', {",
      },
    ],
    found: /^I14/,
  },
  {
    name: 'a worker hands off a run that it does not hold any more, and has not noticed that',
    story: 'handsOffLate',
    changes: [
      {
        file: 'engine/worker/lease-answer.ts',
        from: 'if (active.isLost) return;',
        to: 'if (!active.isLost) return;',
      },
      {
        file: 'store/runs/hand-off/hand-off.ts',
        from: "where ${isHeld('r', 'succeed')} order by r.id for update",
        to: 'where r.id = any(:ids::bigint[]) and :fences::integer[] is not null order by r.id for update',
      },
    ],
    found: /^I3/,
  },
  {
    name: 'a run that was handed off is completed under any fence',
    story: 'answersLate',
    alterations: [
      {
        function: 'lock_handed_over',
        from: 'and r.fence = lock_handed_over.fence and r.status',
        to: 'and r.status',
      },
      // Otherwise the run would never end, which is found out too, but late.
      { function: 'decide', from: 'where r.id = decide.run and', to: 'where false and' },
    ],
    found: /^I15/,
  },
  {
    name: 'a run that was handed off is completed after the end of its lease',
    story: 'completesLate',
    alterations: [
      {
        function: 'lock_handed_over',
        from: 'and r.locked_until >= ',
        to: "and r.locked_until + interval '1 year' >= ",
      },
    ],
    found: /^I15/,
  },
  {
    name: 'a run is taken back though what becomes of it was decided',
    story: 'completes',
    alterations: [
      {
        function: 'decide',
        from: `set locked_until = '9999-12-31Z'`,
        to: 'set locked_until = r.locked_until',
      },
    ],
    found: /^I16/,
  },
  {
    name: 'what was decided is not what becomes of the run',
    story: 'completes',
    changes: [
      {
        file: 'engine/finalize/decided.ts',
        from: "if (decision === 'succeeded') return { kind: 'returned', value: output };",
        to: "if (decision === 'succeeded') return { kind: 'threw', error: output };",
      },
    ],
    found: /^I16/,
  },
];

describe('a story of faults', () => {
  it.each(Object.entries(STORIES))(
    '%s: all invariants hold',
    async (_name, story) => {
      expect((await runExperiment({ build: HEALTHY, faults: { story } })).wrong).toEqual([]);
    },
    180_000,
  );
});

describe('the history finds out', () => {
  it.each(MUTANTS)(
    '$name',
    async ({ story, changes, alterations = [], found }) => {
      const build = changes === undefined ? HEALTHY : await buildMutant(changes);
      const { wrong } = await runExperiment({ build, faults: { story: STORIES[story] }, alterations });
      expect(wrong.filter(line => found.test(line))).not.toEqual([]);
    },
    180_000,
  );
});
