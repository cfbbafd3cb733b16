// Nanoseconds per next(): Tock's schedules beside cron-parser and croner, in turn, in one process.
// In: the modules and how many rounds. Out: medians, ratios, and how often the answers were the same.
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';
import { median, table } from './figures.mjs';

/** Mixed as in a real crontab: frequent, daily, weekly, monthly, rare; zones with and without summer time. */
const EXPRESSIONS = [
  '* * * * *',
  '*/5 * * * *',
  '7 * * * *',
  '0 */2 * * *',
  '30 2 * * *',
  '15 6,18 * * *',
  '0 9 * * 1-5',
  '0 7 * * 1',
  '0 0 1 * *',
  '45 23 1-7 * *',
  '0 12 1 1 *',
  '20 4 29 2 *',
];
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'America/Sao_Paulo',
];
const START = Date.UTC(2026, 0, 1);
/** A walk ends after this many steps, or with the occurrence after three years. */
const MOST_STEPS = 100;
const THREE_YEARS_MS = 3 * 365 * 86_400_000;
const SINGLES = 20;

export function measureNext({ tock, compile, rounds, say }) {
  const cases = ZONES.flatMap(timezone => EXPRESSIONS.map(cron => ({ cron, timezone })));
  const schedules = cases.map(spec => compile.compileSchedule(spec));
  const steps = schedules.map(stepsOf);
  const jobs = cases.map(({ cron, timezone }) => new Cron(cron, { timezone, paused: true }));
  const contestants = {
    walk: {
      'pg-tock': schedules.map((schedule, index) => () => walkTock(schedule, steps[index])),
      'cron-parser': cases.map((spec, index) => () => walkParser(spec, steps[index])),
      croner: jobs.map((job, index) => () => walkCroner(job, steps[index])),
    },
    single: {
      'pg-tock': cases.map(
        (spec, index) => () => singles(index, at => tock.nextOccurrence(spec, at)?.getTime()),
      ),
      'cron-parser': cases.map(
        ({ cron, timezone }, index) =>
          () =>
            singles(index, currentDate =>
              CronExpressionParser.parse(cron, { tz: timezone, currentDate }).next().getTime(),
            ),
      ),
      croner: cases.map(
        ({ cron, timezone }, index) =>
          () =>
            singles(index, at => new Cron(cron, { timezone, paused: true }).nextRun(at)?.getTime()),
      ),
    },
  };
  const result = {};
  for (const [shape, libraries] of Object.entries(contestants)) {
    const calls = shape === 'walk' ? steps.reduce((sum, each) => sum + each, 0) : cases.length * SINGLES;
    result[shape] = compare(libraries, calls, rounds);
    const title =
      shape === 'walk'
        ? 'next() after next(), from a schedule that is read once'
        : 'one next() from an expression and an instant';
    say(`${title}: ${cases.length} schedules, ${rounds} rounds`);
    say(
      table(
        ['library', 'ns per call', 'beside pg-tock', 'same answers'],
        result[shape].map(each => [
          each.library,
          Math.round(each.nanoseconds).toLocaleString('en'),
          `${each.ratio.toFixed(2)} x`,
          `${each.same} of ${each.total}`,
        ]),
      ),
    );
    say('');
  }
  return result;
}

function stepsOf(schedule) {
  let steps = 1;
  for (
    let at = schedule.next(START);
    steps < MOST_STEPS && at < START + THREE_YEARS_MS;
    at = schedule.next(at)
  )
    steps++;
  return steps;
}

function walkTock(schedule, steps) {
  const found = [];
  for (let at = START; found.length < steps; found.push(at)) at = schedule.next(at);
  return found;
}

function walkParser({ cron, timezone }, steps) {
  const iterator = CronExpressionParser.parse(cron, { tz: timezone, currentDate: new Date(START) });
  return Array.from({ length: steps }, () => iterator.next().getTime());
}

function walkCroner(job, steps) {
  const found = [];
  for (let at = new Date(START); found.length < steps; found.push(at.getTime())) at = job.nextRun(at);
  return found;
}

/** Instants spread over three years, other ones for each schedule. */
function singles(index, next) {
  return Array.from({ length: SINGLES }, (_, step) =>
    next(new Date(START + (((index * 7 + step) * 13 * 86_400_000) % THREE_YEARS_MS))),
  );
}

/** Each round measures every library once, the order turning; what a round heats or slows, it does to all. */
function compare(libraries, calls, rounds) {
  const names = Object.keys(libraries);
  const times = new Map(names.map(name => [name, []]));
  const answers = new Map();
  for (let round = -1; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(turn + Math.max(round, 0)) % names.length];
      const began = process.hrtime.bigint();
      const found = libraries[name].map(each => each());
      const nanoseconds = Number(process.hrtime.bigint() - began) / calls;
      // The round before the first warms up.
      if (round >= 0) times.get(name).push(nanoseconds);
      answers.set(name, found.flat());
    }
  }
  const own = median(times.get('pg-tock'));
  const reference = answers.get('pg-tock');
  return names.map(library => ({
    library,
    nanoseconds: median(times.get(library)),
    ratio: median(times.get(library)) / own,
    same: answers.get(library).filter((at, index) => at === reference[index]).length,
    total: reference.length,
    rounds: times.get(library),
  }));
}
