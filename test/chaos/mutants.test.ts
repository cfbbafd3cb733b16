// Chaos: the checker is checked. Tock with a fault built in must be found out by the history of an experiment.
// Found out elsewhere: a batch that is not sorted, and the claim's CTE, in test/engine/lease.test.ts and over-lock.test.ts.
import { describe, expect, it } from 'vitest';
import { runExperiment } from './history-experiment.js';
import { buildMutant, type Change } from './mutant-build.js';

interface Mutant {
  readonly name: string;
  readonly changes: readonly Change[];
  /** The invariants, one of which must be named. */
  readonly found: RegExp;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: 'no fence: a holder writes by id alone',
    changes: [
      {
        file: 'store/transition.ts',
        from: `and (r.id || ':' || r.fence) = any($2::text[]) and r.locked_by = $3`,
        to: 'and $2::text[] is not null and $3::uuid is not null',
      },
    ],
    found: /^I[134]/,
  },
  {
    name: 'the attempt is counted when it fails, not when it is claimed',
    changes: [
      {
        file: 'store/claim-runs.ts',
        from: 'attempts = r.attempts + 1, fence',
        to: 'attempts = r.attempts, fence',
      },
      {
        file: 'store/finalize-runs.ts',
        from: `set status = '\${TRANSITIONS.fail.to}',`,
        to: `set status = '\${TRANSITIONS.fail.to}', attempts = r.attempts + 1,`,
      },
    ],
    found: /^I5/,
  },
  {
    name: 'the host’s clock decides what is due',
    changes: [
      {
        file: 'store/claim-runs.ts',
        from: 'r.run_at <= tock.now()',
        to: 'r.run_at <= clock_timestamp()',
      },
    ],
    found: /^I11/,
  },
  {
    name: 'no cursor: occurrences are computed from now',
    changes: [
      {
        file: 'model/policies.ts',
        from: 'const first = schedule.next(definition.cursor);',
        to: 'const first = schedule.next(Math.max(definition.cursor, now - 30_000));',
      },
    ],
    found: /^I7/,
  },
  {
    name: 'no key: an occurrence is inserted whether it is there or not, and the cursor stays behind',
    changes: [
      {
        file: 'engine/occurrence-rows.ts',
        from: 'from planned join keyed on keyed.run_id = planned.id where',
        to: 'from planned where',
      },
      {
        file: 'engine/materialize.ts',
        from: 'set cursor = greatest(d.cursor, u.cursor)',
        to: `set cursor = d.cursor + (u.cursor - d.cursor) / 2`,
      },
    ],
    found: /^I[67]/,
  },
  {
    name: 'the reaper does not wait for the end of the lease',
    changes: [
      {
        file: 'store/reap-runs.ts',
        from: 'r.locked_until < tock.now()',
        to: `r.locked_until < tock.now() + interval '1 hour'`,
      },
    ],
    found: /^I2/,
  },
  {
    name: 'an effect and its row in the ledger are committed apart',
    changes: [
      {
        file: 'engine/effects.ts',
        from: 'const result = await work(trx);',
        to: 'const result = await work(database.kysely as never);',
      },
    ],
    found: /^I9/,
  },
  {
    name: 'a run that ends dead is deleted and not kept',
    changes: [
      {
        file: 'store/reap-runs.ts',
        from: "tock.now(), ${APPENDED_ERRORS('r.errors', LEASE_ERROR)} from gone r\n",
        to: "tock.now(), ${APPENDED_ERRORS('r.errors', LEASE_ERROR)} from gone r where false\n",
      },
    ],
    found: /^I14/,
  },
];

describe('the history finds out', () => {
  it.each(MUTANTS)(
    '$name',
    async ({ changes, found }) => {
      const build = await buildMutant(changes);
      // By lot, too: a fault that stays hidden in one experiment comes to light in the next.
      for (let seed = 1; ; seed++) {
        const { wrong } = await runExperiment({
          build,
          seed,
          steps: 40,
          stopEarly: true,
          quietWithinMs: 15_000,
        });
        if (wrong.length === 0 && seed < 3) continue;
        expect(wrong.filter(line => found.test(line))).not.toEqual([]);
        return;
      }
    },
    240_000,
  );
});
