// Lists: runs, schedules, what comes next, queues, the audit. Each with a bound on its rows, and a way to
// the next page.
import { auditSentence } from '../../answers/audit-words.js';
import { comingGroups } from '../../answers/now/coming-groups.js';
import { readComing } from '../../answers/now/figures.js';
import { skipWords } from '../../answers/now/skip-words.js';
import { readQueueLoad } from '../../answers/queues.js';
import { readClock } from '../../answers/reads.js';
import { instantText } from '../../model/explain/local-clock.js';
import { exceptionWords } from '../../model/planning/exception-record.js';
import { definitionWords } from '../../model/planning/schedule-words.js';
import { errorOnOneLine } from '../../model/run/errors/root-cause.js';
import type { RunMatch } from '../../model/run/match/run-match.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isNever } from '../../model/run/run-wait.js';
import { RUN_STATUSES } from '../../model/run/states.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { queueLine } from '../describe/queue.js';
import { nameOf } from '../describe/run.js';
import { openNamed, wordsOf } from '../describe/schedule.js';
import { oneOf, several, type Tool, takes, text, whole } from '../tool.js';

const MAX = 100;
const USUAL = 20;
const LIMIT = whole(`at most so many; default ${USUAL}`, 1, MAX);

/** The filter of runs, in lists and in acts on many. */
export const FILTER = {
  status: several('only runs in these states', RUN_STATUSES),
  job: text('name of the job'),
  definition: text('name of the definition'),
  queue: text('name of the queue'),
  group: text('id of the join of a group', 20),
  key: text('idempotency key'),
  tag: text('a tag'),
  error: text('part of the name, code or message of the last error'),
  payload: text('what the payload contains, such as customer=812; needs the right to see payloads'),
  from: text(
    'ended (or, if it has not ended, due) at this time or later: -2h, yesterday, an ISO instant',
    40,
  ),
  to: text('ended, or due, before this time', 40),
} as const;

interface RunsArgs extends RunMatch {
  readonly order?: 'newest' | 'ended';
  readonly before?: string;
  readonly limit?: number;
}

export const runs: Tool<RunsArgs> = {
  name: 'runs',
  title: 'Runs that match a filter, the newest first',
  role: 'view',
  description: 'Lists runs. To explain one of them, call why with its id.',
  input: takes({
    ...FILTER,
    order: oneOf('newest (default), or ended: the last to end first', ['newest', 'ended']),
    before: text('the id of the last run of a page: the next page', 20),
    limit: LIMIT,
  }),
  call: async ({ tock }, { limit = USUAL, ...filter }) => {
    const found = await tock.runs.list({ ...filter, limit });
    const last = found.at(-1);
    return {
      lines: found.length === 0 ? ['no runs match'] : found.map(runLine),
      ...(last !== undefined && found.length === limit
        ? { next: `There may be more: call runs again with before: "${last.id}".` }
        : {}),
    };
  },
};

/** A run in a list. */
export function runLine(run: RunRecord): string {
  const { id, status, attempts, maxAttempts, runAt, finishedAt, queue, skipReason } = run;
  const last = run.errors.at(-1);
  const when =
    finishedAt !== null ? `ended ${utcText(finishedAt)}` : isNever(runAt) ? 'waits' : `due ${utcText(runAt)}`;
  const reason =
    skipReason !== null
      ? `: ${status === 'skipped' ? skipWords(skipReason) : skipReason}`
      : last === undefined || status === 'succeeded'
        ? ''
        : `: ${errorOnOneLine(last)}`;
  return `run ${id} of ${nameOf(run)} in queue ${queue}: ${status}, attempt ${attempts} of ${maxAttempts}, ${when}${reason}`;
}

interface SchedulesArgs {
  readonly job?: string;
  readonly prefix?: string;
  readonly after?: string;
  readonly limit?: number;
}

export const schedules: Tool<SchedulesArgs> = {
  name: 'schedules',
  title: 'Definitions: what runs when',
  role: 'view',
  description:
    'Lists definitions by name with their schedule, next occurrence, pause and last run. To explain one, call why with its name.',
  input: takes({
    job: text('only those of this job'),
    prefix: text('only names that begin with this'),
    after: text('the name of the last one of a page: the next page'),
    limit: LIMIT,
  }),
  call: async ({ tock }, { limit = USUAL, after = '', ...filter }) => {
    const found = await tock.schedules.list({ ...filter, after, limit });
    return {
      lines: found.map(record => {
        const { name, job, nextAt, pausedAt, pauseReason, brokenReason, lastRun } = record;
        return [
          `definition ${name}${job === name ? '' : ` of job ${job}`}: ${definitionWords(record) || 'no schedule'}`,
          pausedAt === null
            ? ''
            : `paused since ${utcText(pausedAt)}${pauseReason === null ? '' : ` (${pauseReason})`}`,
          brokenReason === null ? '' : `broken: ${brokenReason}`,
          nextAt === null ? 'no next occurrence' : `next ${utcText(nextAt)}`,
          lastRun === null ? 'never run' : `last run ${lastRun.id} ${lastRun.status}`,
        ]
          .filter(Boolean)
          .join('; ');
      }),
      ...(found.length === limit
        ? { next: 'There may be more: call schedules again with after: the last name.' }
        : {}),
    };
  },
};

interface ComingArgs {
  readonly definition?: string;
  readonly limit?: number;
}

export const coming: Tool<ComingArgs> = {
  name: 'coming',
  title: 'What runs next',
  role: 'view',
  description:
    'The next occurrence of each definition, the earliest first; or, of one definition, its next occurrences, with what an operator has skipped or moved.',
  input: takes({ definition: text('only this one: several of its occurrences'), limit: LIMIT }),
  call: async (agent, { definition, limit = USUAL }) => {
    if (definition === undefined) {
      const groups = comingGroups(await readComing(agent.reads, 1000), limit);
      return {
        lines: groups.map(
          ({ at, first, count }) =>
            `${utcText(at)}: ${first.name}${count === 1 ? '' : ` and ${count - 1} more of job ${first.job}`}`,
        ),
      };
    }
    const opened = await openNamed(agent, definition);
    const { schedule, exceptions, zone, definition: found } = opened;
    const lines = [`definition ${definition}: ${wordsOf(opened)}`];
    let at = schedule?.next(found.now.getTime()) ?? null;
    for (; at !== null && lines.length <= limit; at = schedule?.next(at) ?? null) {
      const exception = exceptions.find(each => each.at === at);
      const changed = exception === undefined ? '' : `: ${exceptionWords(exception, zone)}`;
      lines.push(`${instantText(at, zone)}${changed}`);
    }
    return { lines: lines.length === 1 ? [...lines, 'nothing is to come'] : lines };
  },
};

export const queues: Tool<{ readonly after?: string; readonly limit?: number }> = {
  name: 'queues',
  title: 'Queues: their state, limits and what waits in them',
  role: 'view',
  description: 'Lists queues by name. To explain why nothing starts in one, call why with its name.',
  input: takes({ after: text('the name of the last one of a page: the next page'), limit: LIMIT }),
  call: async ({ reads }, { after, limit = USUAL }) => {
    const now = await readClock(reads);
    const found = await readQueueLoad(reads, { after: after ?? null, limit });
    return {
      lines:
        found.length === 0 ? ['no queue has live runs or settings'] : found.map(each => queueLine(each, now)),
      ...(found.length === limit
        ? { next: 'There may be more: call queues again with after: the last name.' }
        : {}),
    };
  },
};

interface AuditArgs {
  readonly operator?: string;
  readonly action?: string;
  readonly target?: string;
  readonly before?: string;
  readonly limit?: number;
}

export const audit: Tool<AuditArgs> = {
  name: 'audit',
  title: 'Who changed what',
  role: 'view',
  description: 'Acts of operators, the latest first: who, through what, what was done to what, and why.',
  input: takes({
    operator: text('name of the operator', 200),
    action: text('such as runs.retry; or all of a group: runs, queues, schedules', 200),
    target: text('a definition, a queue, or the id of a run'),
    before: text('the id of the last act of a page: the next page', 20),
    limit: LIMIT,
  }),
  call: async ({ tock }, { limit = USUAL, ...filter }) => {
    const found = await tock.audit.list({ ...filter, limit });
    return {
      lines:
        found.length === 0
          ? ['no act is on record that matches']
          : found.map(
              each =>
                `act ${each.id} at ${utcText(each.at)}: ${each.operator} (via ${each.via}) ${auditSentence(each)}`,
            ),
    };
  },
};
