// Checks that the scheduler's status answers.
import { formatSpan } from '../duration.js';
import { isAsleep, lastSeenAt } from '../explain/tick-state.js';
import { missedText, silenceMs, tickerText } from '../problem-words.js';
import type { Finding, ProblemLimits } from '../problems.js';
import { utcText } from '../schedule/instant-text.js';
import type { LastTick, SchedulerStatus } from '../scheduler-view.js';
import { fine, fromStatus, joined, wrong } from './check.js';

type Limits = Partial<ProblemLimits>;

export const checkDatabase = (status: SchedulerStatus, limits: Limits): Finding =>
  fromStatus(
    status,
    limits,
    ['database-copy', 'clock-set-back'],
    'it is the one in which the schema was made, and its clock has not been set back',
  );

export const checkFreeze = (status: SchedulerStatus, limits: Limits): Finding =>
  fromStatus(status, limits, ['frozen'], 'nothing is frozen');

/** No tick on record is a warning here: the caller expects that something ticks. */
export function checkLastTick(status: SchedulerStatus, limits: Limits): Finding {
  const [last] = status.ticks;
  const codes = ['silent-tick', 'silent-host', 'nothing-known', 'nothing-ticks'] as const;
  if (last === undefined) {
    const found = fromStatus(status, limits, codes, '');
    return { ...found, level: found.level === 'failing' ? 'failing' : 'warning' };
  }
  const when = isAsleep(last, status.at)
    ? `asleep until ${utcText(lastSeenAt(last))}`
    : `${formatSpan(Math.max(0, silenceMs(status)))} ago`;
  const ok = `${when}: ${tickerText(last)}${missedText(status)}`;
  return fromStatus(status, limits, codes, ok);
}

export const checkPartitions = (status: SchedulerStatus, limits: Limits): Finding =>
  fromStatus(
    status,
    limits,
    ['partitions-end'],
    `made until ${utcText(status.partitions.end).slice(0, 10)}, one per ${status.partitions.unit}`,
  );

export const checkSnapshots = (status: SchedulerStatus, limits: Limits): Finding =>
  fromStatus(
    status,
    limits,
    ['old-snapshot'],
    status.oldestSnapshot === null
      ? 'no session holds an old one'
      : `the oldest is held for ${formatSpan(status.oldestSnapshot.ageMs)}`,
  );

export const checkDeadRows = (status: SchedulerStatus, limits: Limits): Finding =>
  fromStatus(status, limits, ['dead-rows'], `${status.deadRows} await vacuum`);

export const checkRuns = (status: SchedulerStatus, limits: Limits): Finding =>
  fromStatus(
    status,
    limits,
    [
      'split-service',
      'overlooked-run',
      'long-wait',
      'blocked-runs',
      'unknown-jobs',
      'awaited-jobs',
      'dead-runs',
      'bad-rows',
    ],
    `${status.runs.waiting} waiting, ${status.runs.running} running, none dead in the last 24 hours`,
  );

export const checkLeases = (status: SchedulerStatus, limits: Limits): Finding =>
  fromStatus(
    status,
    limits,
    ['stuck-runs', 'silent-workers', 'unseen-worker'],
    'none has expired, and every worker reports',
  );

const HOUR_MS = 3_600_000;

/** Of hosts that ticked in the last hour before the latest tick. */
function currentTicks({ ticks }: SchedulerStatus): readonly LastTick[] {
  const latest = Math.max(0, ...ticks.map(({ at }) => at.getTime()));
  return ticks.filter(({ at, stoppedAt }) => stoppedAt === null && latest - at.getTime() < HOUR_MS);
}

/** `web-1 2025a, web-2 2025c`, where they differ; null if all are equal. */
function differing(ticks: readonly LastTick[], value: (tick: LastTick) => string): string | null {
  const byHost = new Map(ticks.map(tick => [`${tick.host} ${value(tick)}`, value(tick)]));
  return new Set(byHost.values()).size > 1 ? [...byHost.keys()].sort().join(', ') : null;
}

/** Between this process, the server, and the hosts that tick. `own`: of this process's Node. */
export function checkZones(status: SchedulerStatus, limits: Limits, own: string): Finding {
  const hosts = differing(currentTicks(status), tick => tick.zoneData);
  const differ =
    hosts === null
      ? []
      : [
          wrong(
            'warning',
            `the hosts have different time zone data (${hosts}); those with older data compute by the newest that is known`,
            'Run the same version of Node on all hosts; tock zones shows what moves',
          ),
        ];
  const found = fromStatus(status, limits, ['zone-data'], '');
  return joined(
    [...(found.level === 'ok' ? [] : [found]), ...differ],
    `Node’s data (${own}) and the server’s agree on the zones in use for the next 400 days`,
  );
}

const MIN_NODE = [20, 19] as const;
const MIN_SERVER = 150_000;

export interface Versions {
  readonly tock: string;
  readonly node: string;
  /** As `server_version_num` counts. */
  readonly serverNumber: number;
  readonly server: string;
}

export function checkVersions(status: SchedulerStatus | null, own: Versions): Finding {
  const found: Finding[] = [];
  const [major = 0, minor = 0] = own.node.split('.').map(Number);
  if (major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1]))
    found.push(wrong('failing', `Node ${own.node} is too old`, 'Install Node 20.19 or later'));
  if (own.serverNumber < MIN_SERVER)
    found.push(wrong('failing', `PostgreSQL ${own.server} is too old`, 'Upgrade the server to 15 or later'));
  const hosts = status === null ? null : differing(currentTicks(status), tick => tick.version);
  if (hosts !== null)
    found.push(
      wrong('warning', `the hosts run different versions of Tock: ${hosts}`, 'Finish the deployment'),
    );
  return joined(found, `Tock ${own.tock}, Node ${own.node}, PostgreSQL ${own.server}`);
}

/** How far apart clocks may be. Schedules go by the database's; cron's minute and log lines by the host's. */
const MAX_CLOCK_MS = 10_000;
const FIX_CLOCK = 'timedatectl set-ntp true';

/** @param ownMs this host's clock minus the database's, in milliseconds */
export function checkClocks(status: SchedulerStatus | null, host: string, ownMs: number): Finding {
  const others = (status === null ? [] : currentTicks(status)).filter(tick => tick.host !== host);
  const all = [{ host, ms: ownMs }, ...others.map(tick => ({ host: tick.host, ms: tick.clockMs }))];
  const off = all.filter(({ ms }) => Math.abs(ms) > MAX_CLOCK_MS);
  if (off.length === 0) {
    const most = Math.max(...all.map(({ ms }) => Math.abs(ms)));
    return fine(`at most ${formatSpan(most)} from the database's, by which schedules go`);
  }
  const texts = off.map(
    each => `${each.host}'s is ${formatSpan(Math.abs(each.ms))} ${each.ms > 0 ? 'ahead' : 'behind'}`,
  );
  return wrong(
    'warning',
    `compared with the database's clock, ${[...new Set(texts)].join(', ')}; schedules go by the database's, but log lines and cron's minute do not`,
    `Synchronize the clocks, of the hosts or of the server: ${FIX_CLOCK}`,
    FIX_CLOCK,
  );
}
