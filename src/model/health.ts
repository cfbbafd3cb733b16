// The state of a scheduler in sentences, the most important first.
import { formatSpan } from './duration.js';
import { isAsleep, lastSeenAt } from './explain/tick-state.js';
import { silenceMs } from './problem-words.js';
import {
  type Finding,
  findProblems,
  type HealthLevel,
  type Problem,
  type ProblemCode,
  type ProblemLimits,
  worstFirst,
} from './problems.js';
import { utcText } from './schedule/instant-text.js';
import type { SchedulerStatus } from './scheduler-view.js';

/** One thing that is wrong or not known; or that nothing is. The text begins with a capital. */
export interface HealthSentence extends Finding, Pick<Problem, 'pageRemedy' | 'link'> {
  /** What kind of problem it is; null: none. */
  readonly code: ProblemCode | null;
}

/** How a scheduler is: the level of its worst problem, and a sentence for each. */
export interface Health {
  readonly level: HealthLevel;
  /** At least one. */
  readonly sentences: readonly HealthSentence[];
}

/** The health that a status shows, with all {@link findProblems} finds. */
export function healthOf(status: SchedulerStatus, limits: Partial<ProblemLimits> = {}): Health {
  const problems = worstFirst(findProblems(status, limits));
  const [worst] = problems;
  if (worst !== undefined) return { level: worst.level, sentences: problems.map(sentenceOf) };
  const text = `Nothing is wrong: ${[lastTickText(status), workersText(status)].filter(Boolean).join(', ')}`;
  return {
    level: 'ok',
    sentences: [{ level: 'ok', code: null, text, remedy: null, pageRemedy: null, command: null, link: null }],
  };
}

function sentenceOf({ text, remedy, pageRemedy, level, code, command, link }: Problem): HealthSentence {
  return {
    level,
    code,
    text: capital(text),
    remedy: remedy === null ? null : capital(remedy),
    pageRemedy: pageRemedy === null ? null : capital(pageRemedy),
    command,
    link,
  };
}

/** Not a command, which is written as it is. */
function capital(text: string): string {
  return text.startsWith('tock ') ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

function lastTickText(status: SchedulerStatus): string {
  const [last] = status.ticks;
  if (last !== undefined && isAsleep(last, status.at))
    return `the scheduler sleeps until ${utcText(lastSeenAt(last))}`;
  const ageMs = silenceMs(status);
  return ageMs < 1000 ? 'the last tick was just now' : `the last tick was ${formatSpan(ageMs)} ago`;
}

/** How old the news of the workers is: what happened since is not known. */
function workersText({ workers, at }: SchedulerStatus): string {
  if (workers.length === 0) return '';
  const oldestMs = Math.max(0, ...workers.map(({ seenAt }) => at.getTime() - seenAt.getTime()));
  const seen = oldestMs < 1000 ? 'seen just now' : `seen within the last ${formatSpan(oldestMs)}`;
  return workers.length === 1 ? `the worker was ${seen}` : `all ${workers.length} workers were ${seen}`;
}
