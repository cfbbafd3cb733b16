// The problems of a scheduler in words: what is wrong, what to do, and the command that does it.
import { formatSpan } from './duration.js';
import { isAlive, lastSeenAt } from './explain/tick-state.js';
import { cappedText } from './run/match/run-match.js';
import { utcText } from './schedule/instant-text.js';
import type {
  LastTick,
  MissedOccurrences,
  SchedulerStatus,
  SplitService,
  ZoneDisagreement,
} from './scheduler-view.js';
import { shellWord } from './shell-word.js';

/** What is wrong, what to do, the command that does it, and the page about it: see `Problem`. */
export interface Words {
  readonly text: string;
  readonly remedy: string | null;
  /** The same for the reader of a page, beside a button that leads there. Not given: `remedy`. */
  readonly onPage?: string | null;
  readonly command: string | null;
  readonly link: string | null;
}

export const START_TICKING = 'check the line in the crontab, or run tock start';

const MAX_LISTED = 3;
const someOf = (all: readonly string[]) =>
  all.length <= MAX_LISTED
    ? all.join(', ')
    : `${all.slice(0, MAX_LISTED).join(', ')} and ${all.length - MAX_LISTED} more`;

export function splitService({ service, inForce, others, vanished }: SplitService): Words {
  const of = service === '' ? 'without a name' : service;
  const gone = vanished.length === 0 ? '' : `; vanished meanwhile: ${vanished.join(', ')}`;
  const held = inForce.length === 0 ? '' : `, whose definitions are in force,`;
  return {
    text: `the processes of the service ${of} have had different definitions for over ten minutes: ${someOf(inForce)}${held} and ${someOf(others)}${gone}`,
    remedy:
      'If these are two applications, give each a name: createTock({ service: … }), or TOCK_SERVICE; if they are one, finish the deployment',
    command: null,
    link: '/workers',
  };
}

/**
 * Since the last tick or beat of all, or the end of its sleep, in milliseconds; 0 if nothing has ever ticked.
 */
export function silenceMs({ ticks, at }: Pick<SchedulerStatus, 'ticks' | 'at'>): number {
  const [last] = ticks;
  return last === undefined ? 0 : at.getTime() - lastSeenAt(last).getTime();
}

/** `cron on web-1, in /srv/app`. */
export function tickerText({ kind, host, folder }: LastTick): string {
  const what = { tick: 'cron', daemon: 'the daemon', library: 'the app' }[kind];
  return `${what} on ${host}, in ${folder}`;
}

export function silentTick(status: SchedulerStatus): Words {
  const [last] = status.ticks;
  if (last === undefined) throw new Error('without a tick there is no silence');
  if (isAlive(last, status)) return stuckDaemon(last, status, missedText(status));
  const stopped = last.stoppedAt === null ? '' : ', which was stopped';
  const since = `nothing has ticked for ${formatSpan(silenceMs(status))}, since ${utcText(last.at)} (${tickerText(last)}${stopped})`;
  const remedy =
    last.kind === 'tick'
      ? `Check on ${last.host} that cron runs, and run tock doctor there; tock tick does now what is due`
      : 'Start it again with tock start, or add the line to the crontab; tock tick does now what is due';
  return { text: `${since}${missedText(status)}`, remedy, command: 'tock tick', link: '/doctor' };
}

function stuckDaemon(tick: LastTick, { at }: SchedulerStatus, missed: string): Words {
  return {
    text: `${tickerText(tick)} is alive, but has completed no pass for ${formatSpan(at.getTime() - tick.at.getTime())}, since ${utcText(tick.at)}${missed}`,
    remedy:
      'See in its log which step fails, and with tock doctor whether a session holds locks; then restart it',
    command: 'tock doctor',
    link: '/doctor',
  };
}

/** `; missed meanwhile: 10 of nightly and occurrences of 3 more`. Empty if nothing is due. */
export function missedText({ missed, definitions }: SchedulerStatus): string {
  if (missed.length === 0) return '';
  const counted = ({ definition, count, isCapped }: MissedOccurrences) =>
    `${isCapped ? 'over ' : ''}${count} of ${definition}`;
  const shown = missed.slice(0, 3).map(counted).join(', ');
  const more = Math.max(definitions.due, missed.length) - Math.min(missed.length, 3);
  return `; missed meanwhile: ${shown}${more > 0 ? ` and occurrences of ${more} more` : ''}`;
}

export function silentHost(tick: LastTick, status: SchedulerStatus): Words {
  const { at } = status;
  if (isAlive(tick, status)) return stuckDaemon(tick, status, '; others still tick');
  return {
    text: `${tickerText(tick)} has not ticked for ${formatSpan(at.getTime() - tick.at.getTime())}, since ${utcText(tick.at)}; others still tick`,
    remedy: `Check cron or the service there with tock doctor; if the host is gone, run tock doctor --forget ${shellWord(tick.host)}`,
    command: `tock doctor --forget ${shellWord(tick.host)}`,
    link: '/doctor',
  };
}

export function nothingKnown(): Words {
  return {
    text: 'nothing has ticked yet, so nothing is known of the schedules',
    remedy: 'add the line to the crontab, or run tock start; tock tick makes one tick now',
    command: 'tock tick',
    link: '/doctor',
  };
}

export function databaseCopy(): Words {
  return {
    text: 'this database is a copy of another one, so nothing is executed here',
    remedy: 'If the original no longer ticks, or this database replaces it, run tock adopt',
    command: 'tock adopt',
    link: null,
  };
}

export function stuckRuns(count: number): Words {
  const [text, remedy] =
    count === 1
      ? [
          '1 running run is past its lease: its worker was killed or has lost the database',
          'The next tick takes it back: tock tick',
        ]
      : [
          `${count} running runs are past their lease: their workers were killed or have lost the database`,
          'The next tick takes them back: tock tick',
        ];
  return { text, remedy, command: 'tock tick', link: '/runs?status=running' };
}

export function deadRuns(count: number): Words {
  return {
    text: `${count === 1 ? '1 run ended' : `${cappedText(count)} runs ended`} dead in the last 24 hours`,
    remedy: 'list them with tock runs --status dead, fix the cause, then run tock retry',
    onPage: 'Fix the cause, then retry them',
    command: 'tock runs --status dead',
    link: '/errors',
  };
}

export function badRows(count: number): Words {
  const runs = count === 1 ? '1 dead run was' : `${count} dead runs were`;
  return {
    text: `${runs} set aside because of bad data in the row`,
    remedy: 'tock show says what it is. Find out which program writes to Tock’s tables directly',
    onPage: 'The page of each run says what it is. Find out which program writes to Tock’s tables directly',
    command: 'tock runs --status dead',
    link: '/errors',
  };
}

export function nothingTicks(status: SchedulerStatus): Words {
  const due = `an occurrence has been due for ${formatSpan(status.definitions.overdueMs)}`;
  const command = 'tock tick';
  const missed = missedText(status);
  const [last] = status.ticks;
  if (last === undefined)
    return { text: `${due} and nothing ticks${missed}`, remedy: START_TICKING, command, link: '/doctor' };
  return {
    text: `${due} although ${tickerText(last)} ticks${missed}`,
    remedy:
      'tock tick says what goes wrong; see also the log of the ticks, and whether a session holds a lock',
    command,
    link: '/doctor',
  };
}

export function clockSetBack({ ahead, aheadMs }: SchedulerStatus['definitions']): Words {
  const get = ahead === 1 ? '1 definition gets' : `${ahead} definitions get`;
  return {
    text: `the database's clock was set back: ${get} no runs until it has caught up, for up to ${formatSpan(aheadMs)}`,
    remedy: 'Once the clock is right, run tock reset-cursor --all',
    command: 'tock reset-cursor --all',
    link: '/schedules',
  };
}

export function brokenDefinitions(count: number): Words {
  const cannot = count === 1 ? '1 definition cannot' : `${count} definitions cannot`;
  return {
    text: `${cannot} be evaluated, so no runs are made`,
    remedy: 'tock jobs says why',
    onPage: 'The page of each schedule says why',
    command: 'tock jobs',
    link: '/schedules',
  };
}

type Worker = SchedulerStatus['workers'][number];

/** Something depends on it, and it should have reported by now; too early to say more. */
export function isUnseen({ silent, running, seenAt, heartbeatMs }: Worker, at: Date): boolean {
  return !silent && running > 0 && at.getTime() - seenAt.getTime() > heartbeatMs * 1.2;
}

export function unseenWorker({ host, pid, seenAt, running, leasesEndMs }: Worker, at: Date): Words {
  const its = running === 1 ? 'its run is' : `its ${running} runs are`;
  const when = (leasesEndMs ?? 0) > 0 ? `in ${formatSpan(leasesEndMs ?? 0)}` : 'by the next tick';
  return {
    text: `worker ${host} pid ${pid} has not been seen for ${formatSpan(at.getTime() - seenAt.getTime())}; ${its} taken back ${when}, unless it reports again`,
    remedy: null,
    command: 'tock status',
    link: '/workers',
  };
}

export function silentText(workers: SchedulerStatus['workers'], at: Date): Words {
  const seen = workers.map(({ host, pid, seenAt }) => {
    const agoMs = at.getTime() - seenAt.getTime();
    const when = agoMs < 0 ? 'before the clock was set back' : `${formatSpan(agoMs)} ago`;
    return `worker ${host} pid ${pid}, last seen ${when}`;
  });
  return {
    text: `${seen.join('; ')}: no heartbeat${takenBack(workers)}`,
    remedy: 'Check whether the process hangs or the host is gone',
    command: 'tock status',
    link: '/workers',
  };
}

function takenBack(workers: SchedulerStatus['workers']): string {
  const running = workers.reduce((sum, worker) => sum + worker.running, 0);
  if (running === 0) return '';
  const endMs = Math.max(0, ...workers.map(worker => worker.leasesEndMs ?? 0));
  const runs = running === 1 ? '1 run is' : `${running} runs are`;
  return `; ${runs} taken back ${endMs > 0 ? `in ${formatSpan(endMs)}` : 'by the next tick'}`;
}

export function oldSnapshot({ ageMs, pid }: NonNullable<SchedulerStatus['oldestSnapshot']>): Words {
  const end = `select pg_terminate_backend(${pid})`;
  return {
    text: `session ${pid} has held a snapshot for ${formatSpan(ageMs)}, so dead rows stay and claims slow down`,
    remedy: `End its transaction, or run ${end}`,
    command: psql(end),
    link: '/doctor',
  };
}

export function manyDeadRows(count: number): Words {
  return {
    text: `${count} dead rows await vacuum`,
    remedy:
      'vacuum the table job_runs_live, and check that autovacuum is on and no session holds an old snapshot',
    command: psql('vacuum tock.job_runs_live'),
    link: '/doctor',
  };
}

export function endOfPartitions({ partitions, at }: SchedulerStatus): Words {
  const leftMs = partitions.end.getTime() - at.getTime();
  const end =
    leftMs <= 0
      ? 'have run out: runs that end now go to the default partition, which cannot be dropped by time'
      : `run out in ${formatSpan(leftMs)}, on ${dayText(partitions.end)}`;
  return {
    text: `the partitions of the finished runs ${end}`,
    remedy: 'Create more as the owner: tock prune or tock migrate',
    command: 'tock migrate',
    link: '/doctor',
  };
}

export function zoneProblem(zone: ZoneDisagreement): Words {
  const { timezone, from, to, nodeOffsetMinutes, serverOffsetMinutes, definitions, firstAffected } = zone;
  const more = definitions.length > 3 ? ` and ${definitions.length - 3} more` : '';
  const affected =
    firstAffected === null
      ? 'The hours of queues are affected'
      : `First affected: ${definitions.slice(0, 3).join(', ')}${more}, ${firstAffected.toISOString()}`;
  return {
    text: `Node (time zone data ${zone.nodeVersion}) and the server disagree on ${timezone} from ${dayText(from)} to ${dayText(to)}: ${offsetText(nodeOffsetMinutes)} and ${offsetText(serverOffsetMinutes)}. ${affected}`,
    remedy: 'Update Node on all hosts, or the server, whichever is older',
    command: null,
    link: '/doctor',
  };
}

/** A statement as a command of the shell. */
export function psql(statement: string): string {
  return `psql "$DATABASE_URL" -c ${inDoubleQuotes(statement)}`;
}

/** The same for what only the owner of the tables may do. */
export function psqlOfOwner(statement: string): string {
  return `psql "$OWNER_DATABASE_URL" -c ${inDoubleQuotes(statement)}`;
}

const inDoubleQuotes = (text: string): string => `"${text.replaceAll(/["$`\\]/g, String.raw`\$&`)}"`;

function dayText(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function offsetText(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}
