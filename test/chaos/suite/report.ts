// What people read in the end.
// In: the plan and the result. Out: lines of text.
import type { Result } from './experiment.js';
import { countsOf, type SuiteOptions } from './options.js';
import { countKinds, type FaultKind, faultLine, KINDS, type Plan } from './plan.js';

const INVARIANTS: Readonly<Record<string, string>> = {
  I1: 'the fences of a run only rise',
  I2: 'a run is claimed again only after its attempt ended, or its lease',
  I3: 'nobody writes under an older fence than the last',
  I4: 'a run ends once',
  I5: 'attempts stay within the most that are allowed',
  I6: 'an occurrence is materialized once',
  I7: 'the occurrences are those of the schedules',
  I8: 'the cursor of a schedule never falls',
  I9: 'an effect is committed once, and with its run',
  I10: 'what was confirmed is there, what was refused is not',
  I11: 'no run starts before its time',
  I12: 'limits hold',
  I13: 'once the faults stop, all becomes quiet',
  I14: 'no run vanishes',
  I15: 'a handoff is decided once, under its fence, within its lease',
  I16: 'what was decided about a handoff is what becomes of it',
  I17: 'no run that could start waits beside a worker with room',
  I18: 'no wake-up of a run that waits is lost',
  I19: 'a wait ends once, and its result never changes',
  I20: 'a wait ends only after what it is for, and counts no attempt',
  I21: 'a child is there once for its name',
  I22: 'what comes after others begins once they have ended, and runs once',
  I23: 'no fair key starts more runs than its rate allows',
  I24: 'no run starts while its key is closed',
  I25: 'tock prove leaves no occurrence unexplained',
  chain: 'what follows from a run is made once',
  batch: 'each run of a batch has its own fence, and its own outcome',
  code: 'older code beside newer costs no run an attempt',
};
const SHOWN = 5;

const number = (value: number) => value.toLocaleString('en-US');
const row = (name: string, value: string, remark = '') =>
  `${name.padEnd(44)}${value.padStart(12)}${remark === '' ? '' : `   ${remark}`}`;

/** The figures as a table, then each invariant, then what is wrong. */
export function drawReport(plan: Plan, result: Result, elapsedMs: number): string {
  const { figures, carriedOut, wrong } = result;
  const planned = countKinds(plan.faults);
  const fault = (kind: FaultKind) =>
    row(
      KINDS[kind],
      number(carriedOut[kind]),
      carriedOut[kind] === planned[kind] ? '' : `of ${planned[kind]}`,
    );
  const statuses = Object.entries(figures.statuses).map(([status, count]) =>
    row(`  ${status}`, number(count)),
  );
  const lines = [
    row('runs asked for', number(figures.asked)),
    row('  confirmed', number(figures.confirmed)),
    row('  refused or rolled back', number(figures.refused)),
    row('  unknown to the client', number(figures.unknown), `${figures.unknownButThere} of them are there`),
    row('occurrences expected', number(figures.occurrencesExpected)),
    row('occurrences found', number(figures.occurrencesFound)),
    row('runs in the end', number(Object.values(figures.statuses).reduce((sum, each) => sum + each, 0))),
    ...statuses,
    row('attempts', number(figures.attempts)),
    row('  taken back from dead or frozen workers', number(figures.reaped)),
    row('effects', number(figures.effects)),
    row('starts of runs of fair keys', number(figures.fairStarts)),
    row('handed off', number(figures.handedOff)),
    row('  decided by the other side', number(figures.decided)),
    row('  its calls that were refused', number(figures.lateCalls)),
    ...Object.entries(figures.waitsEnded).map(([how, count]) =>
      row(how === 'passed' ? '  came past a wait' : `waits ended: ${how}`, number(count)),
    ),
    row('joins and runs of flows that began', number(figures.families.begun)),
    row('  after one that did not succeed', number(figures.families.despite)),
    row('  cancelled with a parent', number(figures.families.cancelled)),
    row('attempts of a job with batches', number(figures.packed.attempts)),
    row('  with other runs', number(figures.packed.together), `at most ${figures.packed.most} together`),
    '',
    ...(Object.keys(KINDS) as FaultKind[]).map(fault),
    row('workers started', number(result.workers)),
    row('  with their output on a full disk', number(result.onFullDisk)),
    row('outcomes refused: written under an old fence', number(result.refusedWrites)),
    row('leases found lost by their holder', number(result.leasesLost)),
    row('batches of outcomes sent again', number(result.outcomesSentAgain)),
    '',
    row(`most at once under a limit of 3`, number(figures.highestUnderKey)),
    row(`most at once in a queue of 4`, number(figures.highestInQueue)),
    row('lost', number(figures.lost)),
    row('doubled outcomes', number(figures.doubledOutcomes)),
    row('doubled effects', number(figures.doubledEffects)),
    row('a shared queue closed and opened', number(result.queueClosings)),
    row(
      'runs seen waiting beside a worker with room',
      number(result.waits.length),
      `in ${number(result.looks)} looks`,
    ),
    row('  the longest', result.waits[0] === undefined ? 'none' : `${Math.round(result.waits[0])} ms`),
    row('quiet after', result.quietMs === null ? 'never' : `${(result.quietMs / 1000).toFixed(1)} s`),
    row('events checked', number(figures.events), `in all ${Math.round(elapsedMs / 1000)} s`),
    '',
    ...Object.entries(INVARIANTS).map(([name, meaning]) => {
      const count = ofInvariant(wrong, name).length;
      return `${name.padEnd(6)}${meaning.padEnd(68)}${count === 0 ? 'holds' : `BROKEN ${number(count)} times`}`;
    }),
  ];
  return [...lines, ...drawWrong(wrong)].join('\n');
}

const ofInvariant = (wrong: readonly string[], name: string) =>
  wrong.filter(line => new RegExp(`^${name}[ :]`).test(line));

/** The first few of each kind. */
function drawWrong(wrong: readonly string[]): string[] {
  if (wrong.length === 0) return ['', 'All holds.'];
  const kinds = new Map<string, string[]>();
  for (const line of wrong) {
    const name = Object.keys(INVARIANTS).find(name => ofInvariant([line], name).length > 0) ?? 'other';
    kinds.set(name, [...(kinds.get(name) ?? []), line]);
  }
  const shown = [...kinds.values()].flatMap(lines => [
    ...lines.slice(0, SHOWN),
    ...(lines.length > SHOWN ? [`… and ${lines.length - SHOWN} more like it`] : []),
  ]);
  return ['', `WRONG: ${number(wrong.length)} findings`, ...shown];
}

/** The plan, for people. */
export function drawPlan(options: SuiteOptions, plan: Plan): string {
  return [...plan.faults.map(faultLine), planLine(options, plan)].join('\n');
}

/** The seed and the hash of the plan, and the command that repeats it. */
export const planLine = (options: SuiteOptions, { hash, faults, durationMs }: Plan): string =>
  `seed ${options.seed}, plan ${hash}: ${faults.length} faults in ${Math.round(durationMs / 1000)} s; repeat with\n` +
  `  npm run chaos -- ${countsOf(options)}`;
