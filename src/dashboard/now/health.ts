// The scheduler's health, from its status.
import { findProblems } from '../../model/problems.js';
import type { SchedulerStatus } from '../../model/scheduler-view.js';

export interface Health {
  readonly level: 'ok' | 'warning' | 'failing' | 'unknown';
  readonly sentences: readonly {
    readonly text: string;
    readonly remedy: string | null;
    readonly command: string | null;
    readonly link: string | null;
  }[];
}

export function healthOf(status: SchedulerStatus): Health {
  const problems = findProblems(status);
  if (problems.length === 0) {
    const text = 'Nothing is wrong';
    return { level: 'ok', sentences: [{ text, remedy: null, command: null, link: null }] };
  }
  return {
    level: 'warning',
    sentences: problems.map(({ message }) => ({ text: message, remedy: null, command: null, link: null })),
  };
}
