// The measure `cells` as text: a table by phase, one of the ends, and whether what is aimed at is reached.
// In: its contestants with their rounds. Out: lines.
import { median, table } from '../figures.mjs';
import { figure } from './measure.mjs';

/** Who has completed less of the load has no p99 to compare with. */
const KEEPS_UP = 0.95;

const ms = value => figure(value, value < 100 ? 1 : 0);
const over = (rounds, of) => median(rounds.map(of));
const total = (rounds, of) => rounds.reduce((sum, each) => sum + of(each), 0);

/** Medians of the rounds; p99 also beside its own when clean. */
export function cellTables(contestants, phases, load) {
  const rows = phases.flatMap(({ name }) =>
    contestants.map(({ label, rounds }, index) => {
      const of = metric => over(rounds, each => each.phases[name][metric]);
      const toClean = over(rounds, each => each.phases[name].p99 / each.phases.clean.p99);
      const keepsUp = of('completed') >= KEEPS_UP * load.rate;
      // Those that were not executed, or never enqueued, are the slow ones.
      const time = value => (keepsUp ? ms(value) : `(${ms(value)})`);
      const p99s = rounds.map(each => each.phases[name].p99);
      return [
        index === 0 ? name : '',
        label,
        time(of('p50')),
        time(of('p95')),
        time(of('p99')),
        ...(rounds.length > 1 ? [`${ms(Math.min(...p99s))} – ${ms(Math.max(...p99s))}`] : []),
        name === 'clean' || !keepsUp ? '' : `${figure(toClean, 2)} x`,
        figure(of('enqueued')),
        figure(of('completed')),
        figure(of('dead')),
        rounds[0].phases[name].backAt === undefined ? '' : caughtUp(rounds, name),
      ];
    }),
  );
  const titles = [
    '',
    '',
    'p50 ms',
    'p95 ms',
    'p99 ms',
    ...(contestants[0]?.rounds.length > 1 ? ['lowest – highest'] : []),
    'beside clean',
    'enqueued/s',
    'completed/s',
    'dead rows',
    'caught up after s',
  ];
  const ends = contestants.map(({ label, rounds }) => [
    label,
    over(rounds, each => each.exit.seconds).toFixed(1),
    [...new Set(rounds.map(({ exit }) => (exit.isGraceful ? exit.code : `${exit.code}, cut short`)))].join(
      ' ',
    ),
    ...['acknowledged', 'lost', 'repeated', 'left', 'late', 'unfinished', 'workerRestarts'].map(name =>
      figure(total(rounds, each => each.end[name])),
    ),
    figure(total(rounds, each => each.end.crashes.length)),
  ]);
  const endTitles = [
    'SIGTERM',
    'gone after s',
    'exit code',
    'acknowledged',
    'lost',
    'repeated',
    'left',
    'never executed',
    'unfinished rows',
    'worker began again',
    'process ended',
  ];
  return `${table(titles, rows)}\n\n${table(endTitles, ends)}`;
}

export function cellNotes(contestants, { seconds, load }) {
  return [
    `${load.rate} runs a second offered, of ${load.workMs} ms and ${load.payloadBytes} bytes, in batches every 25 ms; ${load.workers} at once; phases of ${seconds} s`,
    'dead rows: the most in the phase, of the event tables; they are vacuumed in the calm before a phase, beside autovacuum',
    'PostgreSQL is away for the first half of its phase: what was to be enqueued then comes at once after it',
    'caught up: from when it takes connections until what was owed is enqueued, but for a quarter of a second, and fewer than 100 wait; p99 counts from the enqueue, so whoever enqueues slower then has less to wait for',
    `(in brackets): of what was executed, where that is less than ${KEEPS_UP * 100} % of the load`,
    'worker began again, process ended: by itself, without being asked; a process is started again after a second',
    'left: by the process that was stopped under load, for the next one, which had 60 s; never executed: in the database still, waiting for a lease to end',
    ...goals(contestants, load),
  ];
}

/** After the server was back; a dash where it was not in the phase. */
function caughtUp(rounds, name) {
  const found = rounds.map(each => each.phases[name].caughtUpSeconds);
  return found.includes(undefined) ? '–' : median(found).toFixed(1);
}

/** What is aimed at, where there is somebody to compare with: those that kept up with the load. */
function goals(contestants, load) {
  const own = contestants.find(each => each.own);
  if (own === undefined || contestants.length === 1) return [];
  const p99 = ({ rounds }, phase) => over(rounds, each => each.phases[phase].p99);
  const lost = total(own.rounds, each => each.end.lost + each.end.late);
  const told = (what, value, most) =>
    `${value <= most ? 'reached' : 'missed'}: ${what}: ${figure(value, 2)} of ${most} at most`;
  const beside = Object.keys(own.rounds[0].phases).map(phase => {
    const completed = ({ rounds }) => over(rounds, each => each.phases[phase].completed);
    if (completed(own) < KEEPS_UP * load.rate)
      return `missed: ${own.label}, ${phase}: it completed ${figure(completed(own))} a second of ${load.rate}`;
    const [best] = contestants
      .filter(each => completed(each) >= KEEPS_UP * load.rate)
      .toSorted((a, b) => p99(a, phase) - p99(b, phase));
    return told(
      `${own.label}, ${phase}: p99 beside the best, ${best.label}`,
      p99(own, phase) / p99(best, phase),
      1.1,
    );
  });
  const held = over(own.rounds, each => each.phases['held transaction'].p99 / each.phases.clean.p99);
  return [
    'what is aimed at:',
    told(`${own.label}: lost or never executed`, lost, 0),
    ...beside,
    told(`${own.label}: p99 under a held transaction beside clean`, held, 1.5),
  ].map((line, index) => (index === 0 ? line : `  ${line}`));
}

/** What was lost, by whom. */
export function losses(contestants) {
  return contestants
    .map(({ label, rounds }) => [label, total(rounds, each => each.end.lost)])
    .filter(([, lost]) => lost > 0)
    .map(([label, lost]) => `${label} has lost ${figure(lost)} jobs that were acknowledged`)
    .join('; ');
}
