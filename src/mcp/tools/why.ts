// `why`: the cause of one thing in one call.

import type { Why } from '../../answers/why/why.js';
import { TockError } from '../../model/errors.js';
import { describeKey, describeQueue } from '../describe/queue.js';
import { describeRun } from '../describe/run.js';
import { describeSchedule, openNamed } from '../describe/schedule.js';
import { type Agent, type Answer, type Tool, takes, text } from '../tool.js';

interface WhyArgs {
  readonly run?: string;
  readonly definition?: string;
  readonly time?: string;
  readonly queue?: string;
  readonly key?: string;
}

export const why: Tool<WhyArgs> = {
  name: 'why',
  title: 'Why something did, or did not, happen',
  role: 'view',
  description:
    'Explains one thing: why a run waits, failed or was skipped; why a definition (a job with a schedule) did not run, with or without a time; why nothing starts in a queue; what a fair key waits for. Give exactly one of run, definition, queue or key. Begin here when something specific is asked.',
  input: takes({
    run: text('id of a run, such as 812', 20),
    definition: text('name of a definition; most have the name of their job'),
    time: text(
      'with definition: an ISO instant, or local time in its zone: 2026-03-08T02:30, 2026-03-08 (the day), 02:30 (today)',
      40,
    ),
    queue: text('name of a queue'),
    key: text('a fair key, such as the name of a tenant'),
  }),
  call: async (agent, args) => await explain(agent, args),
};

async function explain(agent: Agent, { run, definition, time, queue, key }: WhyArgs): Promise<Answer> {
  const given = [run, definition, queue, key].filter(each => each !== undefined);
  if (given.length !== 1 || (time !== undefined && definition === undefined))
    throw new TockError(
      'TOCK_BAD_OPTION',
      'give exactly one of run, definition, queue and key; a time only with a definition',
    );
  if (run !== undefined) return { lines: await describeRun(agent, run) };
  if (queue !== undefined) return { lines: await describeQueue(agent, queue) };
  if (key !== undefined) return { lines: await describeKey(agent, key) };
  const name = definition ?? '';
  if (time === undefined) return { lines: await describeSchedule(agent, name) };
  await openNamed(agent, name);
  return { lines: whyLines(await agent.tock.why(name, time)) };
}

function whyLines({ definition, local, verdict, sentences, run, occurrences }: Why): string[] {
  return [
    `definition ${definition} at ${local}: ${verdict}${run === null ? '' : ` (run ${run.id})`}`,
    ...sentences,
    ...occurrences.flatMap(whyLines),
  ];
}
