// What this process remembers of messages that it has executed, because brokers deliver some of them twice.
import type { RelayAnswer } from '../messages.js';

const MAX_ANSWERED = 10_000;
const MAX_UNSENT = 100;

export interface Answered {
  /** Whether the answer to it is confirmed. */
  readonly has: (id: string) => boolean;
  readonly add: (id: string) => void;
  /** Keeps an answer that the broker did not confirm, for when the message comes again. */
  readonly keepUnsent: (id: string, answer: RelayAnswer) => void;
  /** The kept answer, which is taken out. */
  readonly takeUnsent: (id: string) => RelayAnswer | undefined;
}

export function rememberAnswers(): Answered {
  const answered = new Set<string>();
  const unsent = new Map<string, RelayAnswer>();
  return {
    has: id => answered.has(id),
    add(id) {
      answered.add(id);
      dropOldest(answered, MAX_ANSWERED);
    },
    keepUnsent(id, answer) {
      unsent.set(id, answer);
      dropOldest(unsent, MAX_UNSENT);
    },
    takeUnsent(id) {
      const answer = unsent.get(id);
      unsent.delete(id);
      return answer;
    },
  };
}

/** Sets and maps go through their members in the order in which they were added. */
function dropOldest(members: Set<string> | Map<string, unknown>, max: number): void {
  if (members.size <= max) return;
  const [oldest] = members.keys();
  if (oldest !== undefined) members.delete(oldest);
}
