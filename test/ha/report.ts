// What people read in the end, and what counts as a failure.
import type { HaResult } from './experiment.js';

const SHOWN = 8;
const number = (value: number) => value.toLocaleString('en-US');
const row = (name: string, value: string, remark = '') =>
  `${name.padEnd(52)}${value.padStart(10)}${remark === '' ? '' : `   ${remark}`}`;

/** A confirmed enqueue that is not there. */
const VANISHED = /^I10 .*(?:is lost|is there)$/;
/** More lines than this for an event and a worker are a flood. */
const MAX_LINES = 20;

/**
 * With commits that wait for a standby nothing may be wrong. Without, what a fail-over loses is counted; but effects
 * are there once, and limits hold, all the same.
 */
export function failuresOf(result: HaResult): string[] {
  const { isSynchronous, wrong, figures, executedAgain, lines, workers, events, quietMs } = result;
  const flood = Object.entries(lines)
    .filter(([, count]) => count > MAX_LINES * (workers + events.length))
    .map(([event, count]) => `${event} was logged ${count} times by ${workers} processes`);
  if (isSynchronous) {
    const again = executedAgain > 0 ? [`${executedAgain} confirmed outcomes have vanished`] : [];
    return [...wrong, ...again, ...flood];
  }
  return [
    ...wrong.filter(line => /^(?:I9|I12|I13) /.test(line)),
    ...(figures.doubledEffects > 0 ? [`${figures.doubledEffects} effects are there twice`] : []),
    ...(quietMs === null ? ['it did not become quiet'] : []),
    ...flood,
  ];
}

export function drawReport(result: HaResult): string {
  const { isSynchronous, events, figures, wrong, executedAgain, lines, workers, quietMs } = result;
  const failures = failuresOf(result);
  const vanished = wrong.filter(line => VANISHED.test(line)).length;
  return [
    `synchronous_mode ${isSynchronous ? 'on' : 'off'}`,
    ...events.map(({ event, stoodStillMs, text }) =>
      row(`  no run ended during: ${event}`, `${(stoodStillMs / 1000).toFixed(1)} s`, text),
    ),
    row('runs asked for', number(figures.asked)),
    row('  confirmed', number(figures.confirmed)),
    row('  unknown to the client', number(figures.unknown), `${figures.unknownButThere} of them are there`),
    row('occurrences expected', number(figures.occurrencesExpected)),
    row('occurrences found', number(figures.occurrencesFound)),
    row('attempts', number(figures.attempts)),
    row('effects of once and transaction', number(figures.effects)),
    row('most at once under a limit of 3', number(figures.highestUnderKey)),
    row('most at once in a queue of 4', number(figures.highestInQueue)),
    row('enqueues that were confirmed and have vanished', number(vanished)),
    row(
      'outcomes that were confirmed and have vanished',
      number(executedAgain),
      'the run was executed again',
    ),
    row('doubled effects', number(figures.doubledEffects)),
    row('other findings', number(wrong.length - vanished)),
    row('processes of Tock', number(workers)),
    ...Object.entries(lines).map(([event, count]) => row(`  lines of ${event}`, number(count))),
    row('quiet after', quietMs === null ? 'never' : `${(quietMs / 1000).toFixed(1)} s`),
    ...(failures.length === 0
      ? ['All holds.']
      : [`WRONG: ${failures.length} findings`, ...failures.slice(0, SHOWN)]),
    ...(isSynchronous ? [] : wrong.slice(0, SHOWN).map(line => `  counted: ${line}`)),
  ].join('\n');
}
