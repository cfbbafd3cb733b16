// What the role operate may hold back and let go: definitions, single occurrences, queues, keys. One at
// once; many, and what starts many, after a dry run.
import { TockError } from '../../model/errors.js';
import { cappedText } from '../../model/run/match/run-match.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { magnitude, proposed } from '../confirm.js';
import { type Tool, takes, text } from '../tool.js';
import { RATE } from './act.js';

const NOTE = text('why; shown wherever it matters');
const UNTIL = text('when it ends by itself: a duration from now such as 2h, or an ISO instant', 40);
const CONFIRM = text('the token that the dry run answered', 40);

interface Held {
  readonly note?: string;
  readonly until?: string;
}

const held = ({ note, until }: Held) => ({
  ...(note === undefined ? {} : { note }),
  ...(until === undefined ? {} : { until }),
});

export const pauseSchedules: Tool<
  Held & { readonly definition?: string; readonly job?: string; readonly confirm?: string }
> = {
  name: 'pause_schedules',
  title: 'Pause one definition, or all of a job',
  role: 'operate',
  isDestructive: true,
  description:
    'A paused definition makes no runs, and what comes due meanwhile is not caught up. One definition at once; all of a job by one act, after a dry run. Runs that exist go on.',
  input: takes({
    definition: text('one definition'),
    job: text('all definitions of this job'),
    note: NOTE,
    until: UNTIL,
    confirm: CONFIRM,
  }),
  call: async ({ tock }, args) => {
    const { definition, job } = args;
    if ((definition === undefined) === (job === undefined)) throw bad('give a definition, or a job');
    if (definition !== undefined) {
      await tock.schedules.pause(definition, held(args));
      return { lines: [`definition ${definition} is paused`] };
    }
    const match = { job: job ?? '' };
    const { paused, pausedAlready } = await tock.schedules.pauseMany(match, { dryRun: true });
    if (paused === 0)
      return {
        lines: [`no definition of job ${match.job} can be paused; ${pausedAlready} are paused already`],
      };
    const proposal = proposed({
      tool: 'pause_schedules',
      args,
      found: paused,
      lines: [
        `it would pause ${paused} definitions of job ${match.job}; ${pausedAlready} are paused already`,
      ],
    });
    if (proposal !== null) return proposal;
    const done = await tock.schedules.pauseMany(match, held(args));
    return {
      lines: [`${done.paused} definitions are paused: ${done.names.join(', ')}`],
      ...(done.pause === null
        ? {}
        : { next: `To resume just these: resume_schedules with pause: "${done.pause}".` }),
    };
  },
};

export const resumeSchedules: Tool<{
  readonly definition?: string;
  readonly pause?: string;
  readonly confirm?: string;
}> = {
  name: 'resume_schedules',
  title: 'Resume one definition, or what was paused together',
  role: 'operate',
  description:
    'Ends a pause; occurrences within it are not caught up. One definition at once; what one act has paused, by its id, after a dry run.',
  input: takes({
    definition: text('one definition'),
    pause: text('the id of the act that paused several', 20),
    confirm: CONFIRM,
  }),
  call: async ({ tock }, args) => {
    const { definition, pause } = args;
    if ((definition === undefined) === (pause === undefined))
      throw bad('give a definition, or the id of a pause');
    if (definition !== undefined) {
      const { skipped, nextAt } = await tock.schedules.resume(definition);
      const missed =
        skipped === null ? '' : `; ${skipped.count} occurrences came due in the pause and are skipped`;
      return {
        lines: [
          `definition ${definition} is resumed${missed}${nextAt === null ? '' : `; next ${utcText(nextAt)}`}`,
        ],
      };
    }
    const match = { pause: pause ?? '' };
    const { resumed } = await tock.schedules.resumeMany(match, { dryRun: true });
    const lines = [`it would resume ${resumed} definitions that were paused together`];
    const proposal = proposed({ tool: 'resume_schedules', args, found: resumed, lines });
    if (proposal !== null) return proposal;
    const done = await tock.schedules.resumeMany(match);
    return { lines: [`${done.resumed} definitions are resumed; ${done.skipped} occurrences are skipped`] };
  },
};

export const skipOccurrence: Tool<{
  readonly definition: string;
  readonly time: string;
  readonly note?: string;
  readonly restore?: boolean;
}> = {
  name: 'skip_occurrence',
  title: 'Skip one occurrence that is to come, or take that back',
  role: 'operate',
  description:
    'The occurrence gets no run, and a skipped row at its time. With restore: true it is as scheduled again.',
  input: takes(
    {
      definition: text('its definition'),
      time: text('the occurrence: an ISO instant, local time 2026-03-08T02:30, or its day 2026-03-08', 40),
      note: NOTE,
      restore: { type: 'boolean', description: 'take a skip or a move back; default false' },
    },
    ['definition', 'time'],
  ),
  call: async ({ tock }, { definition, time, note, restore = false }) => {
    if (restore) {
      const { occurrence } = await tock.schedules.restore(definition, time);
      return { lines: [`the occurrence of ${definition} at ${utcText(occurrence)} is as scheduled again`] };
    }
    const { occurrence, isChanged } = await tock.schedules.skip(
      definition,
      time,
      note === undefined ? {} : { note },
    );
    return {
      lines: [
        `the occurrence of ${definition} at ${utcText(occurrence)} ${isChanged ? 'is skipped' : 'was skipped already'}`,
      ],
    };
  },
};

export const pauseQueue: Tool<Held & { readonly queue: string }> = {
  name: 'pause_queue',
  title: 'Pause a queue',
  role: 'operate',
  isDestructive: true,
  description: 'None of its runs starts until it is resumed; running ones go on.',
  input: takes({ queue: text('its name'), note: NOTE, until: UNTIL }, ['queue']),
  call: async ({ tock }, { queue, ...options }) => {
    const { waiting, running } = await tock.queues.pause(queue, held(options));
    return { lines: [`queue ${queue} is paused: ${waiting} runs wait, and ${running} go on`] };
  },
};

export const resumeQueue: Tool<{
  readonly queue: string;
  readonly rate?: { readonly count: number; readonly per: string };
  readonly confirm?: string;
}> = {
  name: 'resume_queue',
  title: 'Resume a queue that is paused, or that a handler has closed',
  role: 'operate',
  description:
    'What waits starts, at a rate if one is given, which the queue keeps. The first call is a dry run that answers how many runs wait, and a token to confirm it with.',
  input: takes(
    {
      queue: text('its name'),
      rate: { ...RATE, description: 'start so many per period from now on, such as { count: 5, per: "1s" }' },
      confirm: CONFIRM,
    },
    ['queue'],
  ),
  call: async ({ tock }, args) => {
    const { queue, rate } = args;
    const { backlog, wasPaused, pausedAt, closedUntil } = await tock.queues.resume(queue, { dryRun: true });
    if (!wasPaused) return { lines: [`queue ${queue} is neither paused nor closed`] };
    const { count, oldestAt } = backlog;
    const proposal = proposed({
      tool: 'resume_queue',
      args,
      found: [pausedAt, closedUntil, magnitude(count)],
      lines: [
        `${cappedText(count)} runs wait in queue ${queue}${oldestAt === null ? '' : `, the oldest since ${utcText(oldestAt)}`}; they would start${rate === undefined ? ' at once' : ''}`,
      ],
    });
    if (proposal !== null) return proposal;
    await tock.queues.resume(queue, rate === undefined ? {} : { rate });
    return { lines: [`queue ${queue} is resumed`] };
  },
};

export const openKey: Tool<{ readonly key: string }> = {
  name: 'open_key',
  title: 'Open a fair key that a handler has closed',
  role: 'operate',
  description: 'Its runs take part again before the time that the handler has set.',
  input: takes({ key: text('the key') }, ['key']),
  call: async ({ tock }, { key }) => ({
    lines: [`key ${key} ${(await tock.keys.open(key)) ? 'is open' : 'was not closed'}`],
  }),
};

const bad = (message: string) => new TockError('TOCK_BAD_OPTION', message);
