// What is asked before one schedule is resumed: the reason of its pause stands in the question.
import type { WhyDefinition } from '../../answers/schedules/lists.js';
import type { Question } from '../layout/parts.js';
import { relativeText } from '../layout/text.js';
import type { View } from '../view.js';

type Paused = Pick<WhyDefinition, 'name' | 'paused_at' | 'pause_reason' | 'pause_id'>;

export function resumeQuestion({ now }: View, definition: Paused): Question {
  const { name, paused_at: at, pause_reason: note, pause_id: pause } = definition;
  const since = at === null ? '' : ` ${relativeText(at, now)}`;
  const others = pause === null ? '' : ' Those that were paused together with it stay paused.';
  return {
    verb: `Resume ${name}`,
    keep: 'Keep it paused',
    text: `Paused${since}${note === null ? '' : `: ${note}`}. It makes runs again from now on; occurrences due in the pause are not caught up.${others}`,
  };
}
