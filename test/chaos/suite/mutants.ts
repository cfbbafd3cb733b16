// Reliability suite: the faults that are planted in Tock, and the line of its report that must name each.
// In: nothing. Out: what is changed of the source, and the options with which it shows.
// test/planted-faults.test.ts sees that what they change is still there.
import { type Change, NO_FENCE } from '../mutant-build.js';

/** No faults but those that a mutant asks for. */
export const CALM: readonly string[] = ['kills', 'stops', 'restarts', 'cuts'].map(each => `--${each}=0`);

export interface Mutant {
  readonly name: string;
  readonly changes: readonly Change[];
  /** Besides {@link CALM}. */
  readonly args: readonly string[];
  readonly named: RegExp;
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a holder that writes by id alone, without its fence',
    changes: NO_FENCE,
    args: ['--runs', '400', '--stops', '9'],
    named: /^I[134] .* BROKEN/m,
  },
  {
    name: 'a reaper that does not wait for the end of the lease',
    changes: [
      {
        file: 'store/runs/reap/reapable.ts',
        from: '${run}.locked_until < tock.now()',
        // One run in ten, so that the others end, and with them the experiment, on a slow machine too.
        to: '(${run}.locked_until < tock.now() or ${run}.id % 10 = 0)',
      },
    ],
    args: ['--runs', '100', '--kills', '6'],
    named: /^I2 .* BROKEN/m,
  },
  {
    name: 'slots that are freed, and found by one reaping in ten only',
    changes: [
      {
        file: 'store/runs/claim/unblock.ts',
        from: 'await unblockRuns(database, keys)',
        to: 'await UNBLOCK.run(database, { keys })',
      },
      {
        file: 'store/runs/claim/unblock.ts',
        from: 'return keys.length === 0 ? [] : await UNBLOCK.run(session, { keys });',
        to: 'return [];',
      },
      // Many processes reap, so that one of them would mostly come in time.
      {
        file: 'engine/reap.ts',
        from: 'if (batch.has_limits)',
        to: 'if (batch.has_limits && Date.now() % 10 === 0)',
      },
    ],
    args: ['--runs', '400'],
    named: /^I17 .* BROKEN/m,
  },
  {
    name: 'a batch whose runs all get what was said of the first',
    changes: [
      {
        file: 'engine/execute/batch/call-batch.ts',
        from: 'const said = this.said.get(active);',
        to: 'const [said] = this.said.values();',
      },
    ],
    args: ['--runs', '400'],
    named: /^batch .* BROKEN/m,
  },
  {
    name: 'a run of a flow that waits for the last-named of its parents only',
    changes: [
      {
        file: 'engine/flows.ts',
        from: 'const awaited = parents.map(name',
        to: 'const awaited = parents.slice(-1).map(name',
      },
    ],
    args: ['--runs', '250'],
    named: /^I22 .* BROKEN/m,
  },
  {
    name: 'a run that stands for one occurrence more than there were',
    changes: [
      {
        file: 'model/planning/plan-occurrences.ts',
        from: 'chosen: [{ at: latest, startsAt: latest, count: earlier + 1 }]',
        to: 'chosen: [{ at: latest, startsAt: latest, count: earlier + 2 }]',
      },
    ],
    args: ['--runs', '100'],
    named: /^I25 .* BROKEN/m,
  },
];
