// The notification, in words and as JSON.
import { formatSpan } from '../duration.js';
import { showHidden } from '../hidden-characters.js';
import { type ErrorParts, lineOfParts } from '../run/errors/root-cause.js';
import { redact } from '../run/sanitize.js';
import { localText } from '../schedule/zone/local-text.js';
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
  /** The last error of that run, or of the definition's last run. Null: none is known. */
  readonly error: string | null;
  /** `at` in the zone of the channel, or else of the definition: `2026-03-09 03:31 Europe/Berlin`. */
  readonly localTime: string;
  /** The dashboard's page of the run, or of what it is about; null where its address is not known. */
  readonly url: string | null;
}

/** One message to one channel: an alert, or a digest of several. */
export interface AlertMessage {
  /** The same with every attempt to deliver it. */
  readonly id: string;
  readonly isTest: boolean;
  readonly title: string;
  /** A line for each alert, and what to do. */
  readonly text: string;
  /** The dashboard's page of alerts; null where its address is not known. */
  readonly url: string | null;
  readonly alerts: readonly SentAlert[];
}

export interface StoredFlip extends Omit<SentAlert, 'status' | 'isReminder' | 'error' | 'localTime' | 'url'> {
  readonly error: ErrorParts | null;
  readonly kind: FlipKind;
  /** The definition's zone; null: it is about none. */
  readonly zone: string | null;
}

/** Where a message is sent. */
export interface MessagePlace {
  /** Zone of its times; null: that of the definition, or UTC. */
  readonly timezone: string | null;
  /** The dashboard's address, without a slash at its end. */
  readonly dashboard: string | null;
}

/** More than this are counted, not listed. */
const MAX_LISTED = 50;

const shownError = (error: ErrorParts) => showHidden(redact(lineOfParts(error)).replaceAll(/\s+/g, ' '));

export function composeMessage(
  id: string,
  flips: readonly StoredFlip[],
  { timezone, dashboard }: MessagePlace,
): AlertMessage {
  const alerts = flips.map(
    ({ kind, subject, detail, error, zone, ...flip }): SentAlert => ({
      ...flip,
      subject: showHidden(subject),
      detail: showHidden(detail),
      status: kind === 'up' ? 'up' : 'down',
      isReminder: kind === 'reminder',
      error: error === null || kind === 'up' ? null : shownError(error),
      localTime: localText(Date.parse(flip.at), timezone ?? zone ?? 'UTC'),
      url: dashboard === null ? null : `${dashboard}${pageOf({ ...flip, subject })}`,
    }),
  );
  const lines = alerts.slice(0, MAX_LISTED).map(lineOf);
  if (alerts.length > MAX_LISTED) lines.push(`… and ${alerts.length - MAX_LISTED} more: tock alerts`);
  return {
    id,
    isTest: false,
    title: titleOf(alerts),
    text: lines.join('\n'),
    url: alertsPage(dashboard),
    alerts: alerts.slice(0, MAX_LISTED),
  };
}

const alertsPage = (dashboard: string | null) => (dashboard === null ? null : `${dashboard}/alerts`);

/** The dashboard's page about it, below its address. */
function pageOf({ runId, when, subject }: Pick<SentAlert, 'runId' | 'when' | 'subject'>): string {
  if (runId !== null) return `/runs/${runId}`;
  if (when === 'silent') return '/workers';
  return `/${when === 'waiting' ? 'queues' : 'schedules'}/${encodeURIComponent(subject)}`;
}

/** @param now ISO text */
export function testMessage(id: string, now: string, { timezone, dashboard }: MessagePlace): AlertMessage {
  const detail = 'this is a test: alerts arrive here';
  const url = alertsPage(dashboard);
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
    error: null,
    localTime: localText(Date.parse(now), timezone ?? 'UTC'),
    url,
  };
  const text = `tock: ${detail}${timeAndPlace(alert, null)}`;
  return { id, isTest: true, title: 'Tock: a test', text, url, alerts: [alert] };
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
  const { subject, detail, status, at, since, isReminder, runId, error } = alert;
  const spanMs = new Date(at).getTime() - new Date(since).getTime();
  const lasted = spanMs >= 1000 ? ` (${status === 'up' ? 'after' : 'for'} ${formatSpan(spanMs)})` : '';
  const span = status === 'up' || isReminder ? lasted : '';
  // What is stored of a dead run may hold its error already.
  const isSaid = error === null || detail.includes(error.slice(0, 50));
  const show = status === 'down' && runId !== null ? `tock show ${runId}` : null;
  return `${subject} ${verbOf(alert)}${span}: ${detail}${isSaid ? '' : `; its last error: ${error}`}${timeAndPlace(alert, show)}`;
}

/** When, and where to see more: the dashboard's page, or a command where its address is not known. */
function timeAndPlace({ localTime, url }: SentAlert, command: string | null): string {
  const place = url ?? command;
  return ` (${localTime})${place === null ? '' : `: ${place}`}`;
}
