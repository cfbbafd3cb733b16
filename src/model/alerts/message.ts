// The notification, in words and as JSON.
import { formatSpan } from '../duration.js';
import { showHidden } from '../hidden-characters.js';
import type { FlipKind } from './judge.js';
import type { AlertWhen } from './options.js';

/** One flip of an alert, as it is sent. Instants as ISO text. */
export interface SentAlert {
  readonly rule: string;
  readonly when: AlertWhen | null;
  /** Name of the definition, job or queue, or the host. */
  readonly subject: string;
  readonly status: 'down' | 'up';
  /** It is still down, and was sent before. */
  readonly isReminder: boolean;
  readonly at: string;
  /** Since when it has been down; of a recovery, since when it had been. */
  readonly since: string;
  /** What is wrong, or why it has recovered, in a sentence. */
  readonly detail: string;
  /** The run that it is about, if it is about one. */
  readonly runId: string | null;
}

/** One message to one channel: an alert, or a digest of several. */
export interface AlertMessage {
  /** The same with every attempt to deliver it. */
  readonly id: string;
  readonly isTest: boolean;
  readonly title: string;
  /** A line for each alert, and what to do. */
  readonly text: string;
  readonly alerts: readonly SentAlert[];
}

export interface StoredFlip extends Omit<SentAlert, 'status' | 'isReminder'> {
  readonly kind: FlipKind;
}

/** More than this are counted, not listed. */
const MAX_LISTED = 50;

export function composeMessage(id: string, flips: readonly StoredFlip[]): AlertMessage {
  const alerts = flips.map(
    ({ kind, subject, detail, ...flip }): SentAlert => ({
      ...flip,
      subject: showHidden(subject),
      detail: showHidden(detail),
      status: kind === 'up' ? 'up' : 'down',
      isReminder: kind === 'reminder',
    }),
  );
  const lines = alerts.slice(0, MAX_LISTED).map(lineOf);
  if (alerts.length > MAX_LISTED) lines.push(`… and ${alerts.length - MAX_LISTED} more: tock alerts`);
  return {
    id,
    isTest: false,
    title: titleOf(alerts),
    text: lines.join('\n'),
    alerts: alerts.slice(0, MAX_LISTED),
  };
}

/** @param now ISO text */
export function testMessage(id: string, now: string): AlertMessage {
  const detail = 'this is a test: alerts arrive here';
  const alert: SentAlert = {
    rule: 'test',
    when: null,
    subject: 'tock',
    status: 'up',
    isReminder: false,
    at: now,
    since: now,
    detail,
    runId: null,
  };
  return { id, isTest: true, title: 'Tock: a test', text: `tock: ${detail}`, alerts: [alert] };
}

function titleOf(alerts: readonly SentAlert[]): string {
  const [first] = alerts;
  if (first === undefined) return 'Tock: no alerts';
  if (alerts.length === 1) return `Tock: ${first.subject} ${verbOf(first)}`;
  const down = alerts.filter(({ status }) => status === 'down').length;
  const parts = [
    down > 0 ? `${down} down` : '',
    down < alerts.length ? `${alerts.length - down} recovered` : '',
  ];
  return `Tock: ${parts.filter(part => part !== '').join(', ')}`;
}

const WORDS: Readonly<Record<AlertWhen, string>> = {
  failing: 'is failing',
  dead: 'has a dead run',
  late: 'is late',
  'running-long': 'is running for too long',
  waiting: 'has runs that wait',
  silent: 'no longer ticks',
  broken: 'is broken',
};

function verbOf({ status, isReminder, when }: SentAlert): string {
  if (status === 'up') return 'has recovered';
  const words = when === null ? 'is down' : WORDS[when];
  return isReminder ? `still ${words}` : words;
}

function lineOf(alert: SentAlert): string {
  const { subject, detail, status, at, since, isReminder, runId } = alert;
  const spanMs = new Date(at).getTime() - new Date(since).getTime();
  const lasted = spanMs >= 1000 ? ` (${status === 'up' ? 'after' : 'for'} ${formatSpan(spanMs)})` : '';
  const span = status === 'up' || isReminder ? lasted : '';
  const show = status === 'down' && runId !== null ? `; tock show ${runId}` : '';
  return `${subject} ${verbOf(alert)}${span}: ${detail}${show}`;
}
