// The policies of a definition as sentences.
import { formatDuration } from '../duration.js';
import type { DefinitionColumns } from './definition-columns.js';
import { MAX_BUFFERED } from './plan-overlap.js';

/** What happens while an earlier run is live. */
export function overlapSentence({ overlap }: Pick<DefinitionColumns, 'overlap'>): string {
  switch (overlap) {
    case 'skip':
      return 'If one is still live, the next is skipped.';
    case 'buffer_one':
      return 'If one is still live, one more may wait for it, and further ones are skipped.';
    case 'buffer_all':
      return `If one is still live, the next ones wait for their turn, up to ${MAX_BUFFERED}.`;
    case 'cancel_other':
      return 'If one is still live, it is asked to stop, and the next takes its place.';
    case 'terminate_other':
      return 'If one is still live, it loses its lease, and the next starts at once.';
    case 'allow_all':
      return 'Runs may overlap.';
  }
}

/** What happens after an outage. */
export function catchupSentence({
  catchup,
  catchup_window_ms: window,
}: Pick<DefinitionColumns, 'catchup' | 'catchup_window_ms'>): string {
  const within = window === null ? '' : `, if it is at most ${formatDuration(window)} old`;
  switch (catchup) {
    case 'latest':
      return `After an outage, one run makes up for all that were missed${within}.`;
    case 'all':
      return window === null
        ? 'After an outage, every one that was missed is caught up.'
        : `After an outage, every one that was missed in the last ${formatDuration(window)} is caught up.`;
    case 'none':
      return 'After an outage, what was missed stays missed.';
  }
}

/** Jitter, window, deadline, bounds and the rest, where they are set. */
export function otherSentences(definition: DefinitionColumns, text: (at: Date) => string): string[] {
  const { jitter_ms: jitter, active_window: window, outside_window: outside, timezone } = definition;
  const {
    start_deadline_ms: deadline,
    remaining_count: remaining,
    start_at: from,
    end_at: until,
  } = definition;
  const { pause_on_failure_count: failures, shift } = definition;
  return [
    shift === null
      ? null
      : `What falls on a day that is left out moves to the ${shift === 'next' ? 'next day' : 'day before'} that is not.`,
    jitter >= 2000
      ? `Each starts up to ${formatDuration(jitter)} later, by a delay that is always the same.`
      : null,
    window === null
      ? null
      : `Runs start only from ${window.replace('-', ' to ')} (${timezone}); others ${outside === 'skip' ? 'are skipped' : 'wait for the opening'}.`,
    deadline === null ? null : `A run that cannot start within ${formatDuration(deadline)} is skipped.`,
    from === null ? null : `It begins on ${text(from)}.`,
    until === null ? null : `It ends on ${text(until)}.`,
    remaining === null
      ? null
      : remaining === 0
        ? 'It has made all the runs it was to make.'
        : `It makes ${remaining} more ${remaining === 1 ? 'run' : 'runs'} in all.`,
    failures === null
      ? null
      : `After ${failures === 1 ? 'a dead run' : `${failures} dead runs in a row`} it pauses itself.`,
  ].filter(sentence => sentence !== null);
}
