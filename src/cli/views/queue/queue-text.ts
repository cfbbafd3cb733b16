// A queue as text: its limits, its pause, its runs.
import { formatDuration, formatSpan } from '../../../model/duration.js';
import { fairWords } from '../../../model/explain/fair-turn.js';
import { overrideWords } from '../../../model/explain/queue-overrides.js';
import type { QueueBacklog, QueueRecord } from '../../../model/queue-methods.js';
import { MAX_COUNTED } from '../../../model/run/match/run-match.js';
import { cleanLine, cut } from '../../terminal.js';
import { type Cell, type Column, drawTable } from '../table.js';
import { localTime } from '../time-text.js';

/** `relayed to rabbitmq, 3 at once, 100 per 1m, only 23:00-06:00 Europe/Berlin`; empty: nothing. */
export function limitWords({ concurrency, rate, window, timezone, relayedTo, fair }: QueueRecord): string {
  return [
    relayedTo === null ? null : `relayed to ${cleanLine(relayedTo)}`,
    concurrency === null ? null : `${concurrency} at once`,
    rate === null ? null : `${rate.count} per ${formatDuration(rate.perMs)}`,
    fair === null ? null : cleanLine(fairWords(fair)),
    window === null ? null : `only ${window} ${timezone}`,
  ]
    .filter(part => part !== null)
    .join(', ');
}

/** `paused: the printer is on fire (since Mon 2026-03-09 10:00 CET)`; empty if it is not paused. */
export function pauseWords({ pausedAt, pausedUntil, pauseReason, closedUntil }: QueueRecord): string {
  if (pausedAt === null) return closedUntil === null ? '' : `closed until ${localTime(closedUntil)}`;
  const end = pausedUntil === null ? '' : `, until ${localTime(pausedUntil)}`;
  return `paused${pauseReason === null ? '' : `: ${cleanLine(pauseReason)}`} (since ${localTime(pausedAt)}${end})`;
}

export function contentWords({ waiting, running }: QueueRecord): string {
  return `${waiting} waiting, ${running} running`;
}

/** `code: concurrency 4 · set to 2 by ana until Mon 2026-03-09 14:20 CET`, a line for each. */
export function overrideLines(queue: QueueRecord): string[] {
  return overrideWords(queue).map(({ stated, set, until }) => {
    const end = until === null ? 'it is reset' : localTime(until);
    return `code: ${cleanLine(stated)} · ${cleanLine(set)} until ${end}`;
  });
}

/** Its limits; and that they are in code, where no operator has changed them. */
function limitCell(queue: QueueRecord): Cell {
  const words = limitWords(queue) || 'none';
  if (queue.inCode !== null && overrideWords(queue).length === 0) return `${words} (in code)`;
  return words === 'none' ? { text: words, colour: 'dim' } : words;
}

/** `2400 runs start, the oldest is 9d old`. */
export function backlogWords({ count, oldestMs }: QueueBacklog): string {
  const age = formatSpan(oldestMs ?? 0);
  if (count === 1) return `1 run starts, it is ${age} old`;
  return `${count > MAX_COUNTED ? `more than ${MAX_COUNTED}` : count} runs start, the oldest is ${age} old`;
}

const COLUMNS: readonly Column[] = [
  { title: 'queue', flexible: true },
  { title: 'waiting', align: 'right' },
  { title: 'running', align: 'right' },
  { title: 'limits', flexible: true },
  { title: 'pause', flexible: true },
];

export const nameColumn = (name: string) => cut(cleanLine(name), 200);

export async function drawQueues(queues: readonly QueueRecord[]): Promise<string> {
  const rows = queues.map((queue): Cell[] => [
    nameColumn(queue.name),
    `${queue.waiting}`,
    `${queue.running}`,
    limitCell(queue),
    { text: pauseWords(queue), colour: 'yellow' },
  ]);
  const changed = queues.flatMap(queue =>
    overrideLines(queue).map(line => `${nameColumn(queue.name)}: ${line}`),
  );
  return [await drawTable(COLUMNS, rows), ...changed].join('\n');
}
