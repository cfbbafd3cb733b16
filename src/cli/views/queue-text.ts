// A queue as text: its limits, its pause, its runs.
import { formatDuration, formatSpan } from '../../model/duration.js';
import type { QueueBacklog, QueueRecord } from '../../model/queue-methods.js';
import { MAX_COUNTED } from '../../model/run/run-match.js';
import { cleanLine, cut } from '../terminal.js';
import { type Cell, type Column, drawTable } from './table.js';
import { localTime } from './time-text.js';

/** `relayed to rabbitmq, 3 at once, 100 per 1m, only 23:00-06:00 Europe/Berlin`; empty: nothing. */
export function limitWords({ concurrency, rate, window, timezone, relayedTo }: QueueRecord): string {
  return [
    relayedTo === null ? null : `relayed to ${cleanLine(relayedTo)}`,
    concurrency === null ? null : `${concurrency} at once`,
    rate === null ? null : `${rate.count} per ${formatDuration(rate.perMs)}`,
    window === null ? null : `only ${window} ${timezone}`,
  ]
    .filter(part => part !== null)
    .join(', ');
}

/** `paused: the printer is on fire (since Mon 2026-03-09 10:00 CET)`; empty if it is not paused. */
export function pauseWords({ pausedAt, pauseReason }: QueueRecord): string {
  if (pausedAt === null) return '';
  return `paused${pauseReason === null ? '' : `: ${cleanLine(pauseReason)}`} (since ${localTime(pausedAt)})`;
}

export function contentWords({ waiting, running }: QueueRecord): string {
  return `${waiting} waiting, ${running} running`;
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
    limitWords(queue) || { text: 'none', colour: 'dim' },
    { text: pauseWords(queue), colour: 'yellow' },
  ]);
  return await drawTable(COLUMNS, rows);
}
