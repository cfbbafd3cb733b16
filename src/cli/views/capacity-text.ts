// The report of `tock capacity` on one screen.
import type { CapacityReport, Resource, ResourceCode } from '../../model/capacity/capacity.js';
import { formatSpan } from '../../model/duration.js';
import type { Shell } from '../shell.js';
import { type Colour, paint } from '../terminal.js';
import { counted, sizeText } from './size-text.js';
import { drawTable } from './table.js';
import { localTime } from './time-text.js';

const TITLES: Readonly<Record<ResourceCode, string>> = {
  disk: 'disk',
  cpu: 'CPU of the server',
  wal: 'WAL',
  connections: 'connections',
  workers: 'workers’ slots',
};

/** What helps where something ends; docs/performance.md says more. */
const ADVICE: Readonly<Record<ResourceCode, string>> = {
  disk: 'keep less: tock prune --keep 30d --keep-succeeded 7d from the crontab; daily partitions; smaller payloads and outputs',
  cpu: 'let a run handle more items, enqueue with enqueueMany, or give groups of queues a database of their own',
  wal: 'raise max_wal_size, so that checkpoints are rarer; let a run handle more items; smaller payloads and outputs',
  connections:
    'start fewer daemons, lower their connections, put pgbouncer in between, or raise max_connections',
  workers: 'raise concurrency where handlers wait, or start another daemon',
};

const NEVER = 'not within ten years';
const DAY_MS = 86_400_000;
const NEAR_DAYS = 90;

const amountOf = (code: ResourceCode, amount: number): string => {
  if (code === 'disk') return sizeText(Math.round(amount));
  if (code === 'wal') return `${sizeText(Math.round(amount))}/s`;
  if (code === 'cpu') return `${figure(amount)} ${amount === 1 ? 'core' : 'cores'}`;
  return figure(amount);
};

const figure = (value: number): string =>
  value !== 0 && value < 10
    ? value.toLocaleString('en', { maximumSignificantDigits: 2 })
    : Math.round(value).toLocaleString('en');

export async function sayCapacity(shell: Shell, report: CapacityReport): Promise<void> {
  for (const [name, value] of facts(report)) shell.say(`${paint('dim', name.padEnd(14))}  ${value}`);
  shell.say('');
  const columns = [
    { title: 'resource' },
    { title: 'used', align: 'right' },
    { title: 'of', align: 'right' },
    { title: 'share', align: 'right' },
    { title: 'ends', flexible: true },
  ] as const;
  shell.say(
    await drawTable(
      columns,
      report.resources.map(resource => rowOf(report, resource)),
    ),
  );
  shell.say('');
  for (const line of conclusion(report)) shell.say(line);
}

function facts({ rates, history }: CapacityReport): [string, string][] {
  const { lastDayRuns, peakMinutePerSecond, peakHourPerSecond, runsPerDay, growthPerDay } = rates;
  const growth =
    growthPerDay === null
      ? 'not known before two whole weeks are on record; dates below are for as many as today'
      : `${growthPerDay < 0 ? '−' : '+'}${counted(Math.round(Math.abs(growthPerDay) * 7), 'run')} a day, each week`;
  const kept =
    history.keptDays === null ? 'nothing removed yet' : `the last ${formatSpan(history.keptDays * DAY_MS)}`;
  return [
    ['last 24 hours', `${counted(lastDayRuns, 'run')} ended`],
    ['at most', `${figure(peakMinutePerSecond)}/s in a minute, ${figure(peakHourPerSecond)}/s in an hour`],
    ['a day', `${counted(Math.round(runsPerDay), 'run')} by the last weeks`],
    ['growth', growth],
    [
      'history',
      `${counted(history.keptRuns, 'run')}, ${sizeText(history.sizes.finished)} (${kept}); keys ${sizeText(history.sizes.keys)}, logs ${sizeText(history.sizes.logs)}`,
    ],
    [
      'a run',
      `${sizeText(Math.round(history.bytesPerRun))} with its keys and log; in a year the database takes ${sizeText(Math.round(history.bytesInAYear))}`,
    ],
  ];
}

function rowOf({ at }: CapacityReport, resource: Resource): { text: string; colour: Colour | null }[] {
  const { code, used, limit, endsAt } = resource;
  const isNear = endsAt !== null && endsAt.getTime() - at.getTime() < NEAR_DAYS * DAY_MS;
  const cells = [
    TITLES[code],
    amountOf(code, used),
    limit === null ? '' : amountOf(code, limit),
    limit === null ? '' : `${Math.round((used / limit) * 100)}%`,
    endsText(at, resource),
  ];
  return cells.map((text, index) => ({ text, colour: isNear && index > 2 ? 'yellow' : null }));
}

function endsText(at: Date, { code, limit, endsAt }: Resource): string {
  if (code === 'disk' && limit === null) return 'name its size: --disk 200GB';
  if (limit === null) return 'no daemon runs: ticks start as many as they need';
  if (endsAt === null) return code === 'connections' ? 'grows with processes' : NEVER;
  if (endsAt.getTime() <= at.getTime()) return 'now';
  return `${localTime(endsAt).split(' ')[1] ?? ''} (in ${formatSpan(endsAt.getTime() - at.getTime())})`;
}

function conclusion({ at, endsFirst, resources }: CapacityReport): string[] {
  if (endsFirst === null)
    return [`${paint('green', 'nothing ends within ten years')}, as far as it is known`];
  const first = resources.find(({ code }) => code === endsFirst);
  const when = first === undefined ? '' : endsText(at, first);
  return [`${paint('bold', `ends first: ${TITLES[endsFirst]}`)}, ${when}`, `  ${ADVICE[endsFirst]}`];
}
