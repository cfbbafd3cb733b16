// Jobs that runs wait for, because the workers that claimed them do not have these, in words.
import { formatSpan } from '../duration.js';
import type { Words } from '../problem-words.js';
import type { AwaitedJob } from '../queue/waiting-runs.js';
import { shellWord } from '../shell-word.js';

const SHOWN = 3;

/** What can be done about a run whose job nobody has. */
export const missingJobRemedy = (job: string) =>
  `Deploy code that has the job, or a job with aliases: ['${job}']; or cancel the run`;

/** No code that is in force has these jobs. @param jobs at least one */
export function unknownJobs(jobs: readonly AwaitedJob[]): Words {
  const [first] = jobs;
  return {
    text: `nobody has ${namesOf(jobs)}: ${countOf(jobs)} ${runsOf(jobs) === 1 ? 'waits' : 'wait'} for code that does, ${since(jobs)}`,
    remedy: `Deploy code that has ${jobs.length === 1 ? 'the job' : 'the jobs'}, or aliases for ${jobs.length === 1 ? 'it' : 'them'} where the name has changed; or cancel the runs`,
    ...shownBy(first),
  };
}

/** Code in force has these jobs, but no worker of it has taken their runs. @param jobs at least one */
export function awaitedJobs(jobs: readonly AwaitedJob[]): Words {
  const [first] = jobs;
  return {
    text: `${countOf(jobs)} of ${namesOf(jobs)} ${runsOf(jobs) === 1 ? 'waits' : 'wait'} for a worker whose code has ${jobs.length === 1 ? 'the job' : 'the jobs'}, ${since(jobs)}`,
    remedy: 'Finish the deployment: workers of older code leave such runs to newer ones',
    ...shownBy(first),
  };
}

function namesOf(jobs: readonly AwaitedJob[]): string {
  const more = jobs.length > SHOWN ? ` and ${jobs.length - SHOWN} more` : '';
  const names = jobs.slice(0, SHOWN).map(({ job }) => job);
  return `${jobs.length === 1 ? 'the job' : 'the jobs'} ${names.join(', ')}${more}`;
}

const runsOf = (jobs: readonly AwaitedJob[]) => jobs.reduce((sum, { runs }) => sum + runs, 0);

function countOf(jobs: readonly AwaitedJob[]): string {
  const count = runsOf(jobs);
  const isCapped = jobs.some(job => job.isCapped);
  return `${isCapped ? 'over ' : ''}${count} ${count === 1 ? 'run' : 'runs'}`;
}

const since = (jobs: readonly AwaitedJob[]) =>
  `the oldest for ${formatSpan(Math.max(0, ...jobs.map(({ waitMs }) => waitMs)))}`;

function shownBy(first: AwaitedJob | undefined): Pick<Words, 'command' | 'link'> {
  const job = first?.job ?? '';
  return { command: `tock runs --job ${shellWord(job)}`, link: `/runs?job=${encodeURIComponent(job)}` };
}
