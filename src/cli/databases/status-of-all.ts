// `tock status --all`: a line for each database, what is wrong below.
import { formatSpan } from '../../model/duration.js';
import { type Health, healthOf } from '../../model/health.js';
import type { HealthLevel, ProblemLimits } from '../../model/problems.js';
import type { SchedulerStatus } from '../../model/scheduler-view.js';
import { healthExitCode } from '../../runtime/exit-codes.js';
import type { Shell } from '../shell.js';
import { cleanLine } from '../terminal.js';
import { paintLevel } from '../views/level-text.js';
import { countText } from '../views/load-chart.js';
import { drawTable } from '../views/table.js';
import { type Answer, askEach } from './each-database.js';

interface Reading {
  readonly status: SchedulerStatus;
  readonly health: Health;
}

const ORDER: readonly HealthLevel[] = ['failing', 'warning', 'unknown', 'ok'];

/** @param isCheck only what is wrong, and the exit code of the worst: a database that is away is failing */
export async function statusOfAll(
  shell: Shell,
  limits: Partial<ProblemLimits>,
  isCheck: boolean,
): Promise<number> {
  const answers = await askEach(shell, async ({ tock }): Promise<Reading> => {
    const status = await tock.status();
    return { status, health: healthOf(status, limits) };
  });
  const level = ORDER.find(each => answers.some(answer => levelOf(answer) === each)) ?? 'ok';
  shell.document({
    level,
    databases: answers.map(({ name, value, error }) => ({
      name,
      level: value?.health.level ?? 'failing',
      ...(value === null ? { error } : { ...value.status, health: value.health }),
    })),
  });
  if (!shell.json) {
    if (!isCheck) shell.say(`${await tableOf(answers)}\n`);
    for (const answer of answers) for (const line of linesOf(answer)) shell.say(line);
    if (level === 'ok') shell.say(`${paintLevel('ok')}: nothing is wrong in ${answers.length} databases`);
  }
  return isCheck ? healthExitCode(level) : 0;
}

const levelOf = ({ value }: Answer<Reading>): HealthLevel => value?.health.level ?? 'failing';

async function tableOf(answers: readonly Answer<Reading>[]): Promise<string> {
  const numbers = ['waiting', 'oldest', 'running', 'failed', 'dead 24 h', 'last tick'];
  const columns = [
    { title: 'database' },
    { title: 'health' },
    ...numbers.map(title => ({ title, align: 'right' }) as const),
  ];
  const rows = answers.map(answer => [
    cleanLine(answer.name),
    answer.value === null ? 'away' : levelOf(answer),
    ...(answer.value === null ? numbers.map(() => '–') : figuresOf(answer.value.status)),
  ]);
  return await drawTable(columns, rows);
}

function figuresOf({ at, runs, oldestWaitMs, lastDay, ticks }: SchedulerStatus): string[] {
  const [last] = ticks;
  return [
    countText(runs.waiting),
    runs.waiting === 0 ? '' : formatSpan(oldestWaitMs),
    countText(runs.running),
    countText(runs.failed),
    countText(lastDay.dead),
    last === undefined ? 'never' : `${formatSpan(Math.max(0, at.getTime() - last.at.getTime()))} ago`,
  ];
}

function linesOf(answer: Answer<Reading>): string[] {
  const name = cleanLine(answer.name);
  if (answer.value === null) return [`${paintLevel('failing')}: ${name}: ${cleanLine(answer.error.message)}`];
  return answer.value.health.sentences
    .filter(({ level }) => level !== 'ok')
    .map(({ level, text, remedy }) => {
      const sentence = remedy === null ? text : `${text}. ${remedy}`;
      return `${paintLevel(level)}: ${name}: ${cleanLine(sentence)}`;
    });
}
