// Chaos: the faults that are planted in a daemon, each of which a burst, or one of a few, must find out.
// In: nothing. Out: what is changed of the source. test/planted-faults.test.ts sees that it is still there.
// Not here: what only makes a run start later than it could, such as a complete claim that never comes. The next poll finds what it would have
// found.
import type { Change } from '../mutant-build.js';

export interface SilenceMutant {
  readonly name: string;
  readonly changes: readonly Change[];
  readonly found: RegExp;
}

export const MUTANTS: readonly SilenceMutant[] = [
  {
    name: 'no claim is complete',
    changes: [
      {
        file: 'engine/claim/watermarks.ts',
        from: 'return isComplete ? { ...sent, watermarks: [] } : sent;',
        to: 'return sent;',
      },
    ],
    found: /is passed over by/,
  },
  {
    name: 'that nothing waits for this code is news each time',
    changes: [
      {
        file: 'engine/worker/worker.ts',
        from: 'if (!this.hasMore && (leftMore || count > 0)) this.onChange();',
        to: 'if (!this.hasMore) this.onChange();',
      },
    ],
    found: /asks all the time/,
  },
  {
    name: 'whoever has claimed everything polls no more',
    changes: [
      {
        file: 'daemon/next-pass.ts',
        from: 'pollBy: Math.min(answeredAt + pollMs, completeAt),',
        to: 'pollBy: answeredAt + 600_000,',
      },
    ],
    found: /has not asked for/,
  },
];
