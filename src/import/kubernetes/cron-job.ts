// What becomes of a CronJob of Kubernetes: a definition, or a reason why not.
import { checkZoneName } from '../../model/schedule/zone/zone-names.js';
import { valueText } from '../code/job-code.js';
import { uniqueName } from '../code/job-name.js';
import { sameExpression, writtenAnew } from '../crontab/tock-cron.js';
import {
  clockOptions,
  type LeftSchedule,
  secondsText,
  suspended,
  type TakenSchedule,
} from '../elsewhere/taken.js';
import { type Times, timesOf } from '../elsewhere/times.js';
import { isObject, listOf, numberOf, objectOf, textOf, type Values } from '../elsewhere/values.js';
import { containerCommand } from './container.js';
import type { CronJobManifest } from './manifest.js';
import { readRobfig } from './robfig.js';

type Left = readonly [problem: string, remedy: string];

const CORRECT = 'Correct it, or delete the CronJob';
/** The default of Kubernetes. */
const BACKOFF_LIMIT = 6;
/** Settings of a pod that say nothing, or are read elsewhere. */
const POD = new Set([
  'containers',
  'initContainers',
  'restartPolicy',
  'volumes',
  'dnsPolicy',
  'schedulerName',
]);

/**
 * Translates one CronJob.
 * @param zone that of kube-controller-manager, for CronJobs without a timeZone
 * @param names those that are taken, to which the new one is added
 */
export function translateCronJob(
  { name, namespace, spec }: CronJobManifest,
  zone: string,
  names: Set<string>,
): TakenSchedule | LeftSchedule {
  const from = `CronJob ${namespace === null ? '' : `${namespace}/`}${name}`;
  const left = ([problem, remedy]: Left): LeftSchedule => ({ from, problem, remedy });
  const schedule = scheduleOf(spec, zone);
  if ('problem' in schedule) return left([schedule.problem, CORRECT]);
  const jobSpec = objectOf(objectOf(spec['jobTemplate'])['spec']);
  const pod = objectOf(objectOf(jobSpec['template'])['spec']);
  const pods = podsProblem(jobSpec, pod);
  if (pods !== null) return left(pods);
  const command = containerCommand(objectOf(listOf(pod['containers'])[0]));
  if (!('command' in command)) return left(command);
  const differences = [...schedule.differences, ...command.differences];
  const policies = policiesOf(spec, differences);
  const limits = limitsOf(jobSpec, differences);
  const others = Object.keys(pod).filter(key => !POD.has(key));
  if (others.length > 0) differences.push(`not carried over: ${others.join(', ')} of its pod`);
  const options = { ...schedule.options, ...policies };
  const isSuspended = spec['suspend'] === true;
  if (isSuspended) differences.unshift(suspended(valueText(options), 'suspended'));
  return {
    from,
    differences,
    clock: schedule.clock,
    job: {
      name: uniqueName(name, names),
      comments: [`${from}: ${textOf(spec['schedule']) ?? ''}`, ...differences.map(each => `Note: ${each}`)],
      schedule: isSuspended ? {} : options,
      shell: null,
      command: command.command,
      cwd: command.cwd,
      env: command.env,
      stdin: null,
      queue: null,
      ...limits,
    },
  };
}

interface Schedule {
  readonly options: Readonly<Record<string, unknown>>;
  readonly clock: { readonly times: Times; readonly timezone: string } | null;
  readonly differences: readonly string[];
}

function scheduleOf(spec: Values, zone: string): Schedule | { readonly problem: string } {
  const text = textOf(spec['schedule']);
  if (text === null) return { problem: 'it has no schedule' };
  const read = readRobfig(text);
  if (typeof read === 'string') return { problem: read };
  if ('everySeconds' in read)
    return {
      options: { every: secondsText(read.everySeconds) },
      clock: null,
      differences: [
        'Kubernetes counts from its last start; every is aligned to the clock, the same on all hosts',
      ],
    };
  const timezone = textOf(spec['timeZone']) ?? read.timezone ?? zone;
  try {
    checkZoneName(timezone);
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
  const times = timesOf(read.times);
  const cron = sameExpression([read.text, writtenAnew(read.times)], times);
  if (cron === undefined)
    return { problem: `it names no date that ever comes: ${JSON.stringify(read.text)}` };
  const differences =
    read.timezone !== null && textOf(spec['timeZone']) === null
      ? [`TZ=${read.timezone} in its schedule is the time zone; Kubernetes itself advises against it`]
      : [];
  return { options: clockOptions(cron, timezone, times), clock: { times, timezone }, differences };
}

const ANOTHER_COMMAND = 'Write a definition by hand: a handler, or a shell job, that does all of it in order';

function podsProblem(jobSpec: Values, pod: Values): Left | null {
  const containers = listOf(pod['containers']).filter(isObject);
  if (containers.length === 0) return ['its pod has no container', CORRECT];
  const named = (list: readonly unknown[]): string =>
    list
      .filter(isObject)
      .map(each => textOf(each['name']) ?? '?')
      .join(', ');
  if (containers.length > 1) return [`its pod has several containers: ${named(containers)}`, ANOTHER_COMMAND];
  const first = listOf(pod['initContainers']);
  if (first.length > 0) return [`its pod has init containers: ${named(first)}`, ANOTHER_COMMAND];
  const [completions, parallelism] = [
    numberOf(jobSpec['completions']) ?? 1,
    numberOf(jobSpec['parallelism']) ?? 1,
  ];
  if (completions !== 1 || parallelism !== 1)
    return [
      `it runs several pods (completions ${completions}, parallelism ${parallelism})`,
      'Write a job that enqueues one run for each part: tock.enqueueMany',
    ];
  return null;
}

function policiesOf(spec: Values, differences: string[]): Record<string, string> {
  const policies: Record<string, string> = {};
  switch (textOf(spec['concurrencyPolicy']) ?? 'Allow') {
    case 'Forbid':
      // When the live one has ended, Kubernetes starts what has come due meanwhile.
      policies['overlap'] = 'buffer_one';
      break;
    case 'Replace':
      policies['overlap'] = 'cancel_other';
      differences.push(
        'concurrencyPolicy Replace: the new run starts when the one that is asked to stop has ended; Kubernetes starts it at once',
      );
      break;
    default:
      policies['overlap'] = 'allow_all';
  }
  const deadline = numberOf(spec['startingDeadlineSeconds']);
  if (deadline !== null && deadline > 0) policies['catchupWindow'] = secondsText(deadline);
  if (deadline !== null && deadline > 0 && deadline < 10)
    differences.push(
      `startingDeadlineSeconds is ${deadline}: below 10, Kubernetes may start nothing; a tick a minute needs 60 or more`,
    );
  return policies;
}

function limitsOf(jobSpec: Values, differences: string[]): { timeout: string | null; retry: string } {
  const attempts = (numberOf(jobSpec['backoffLimit']) ?? BACKOFF_LIMIT) + 1;
  const deadline = numberOf(jobSpec['activeDeadlineSeconds']);
  if (deadline !== null && attempts > 1)
    differences.push(
      `activeDeadlineSeconds ${deadline} is for all attempts together; timeout is for each of up to ${attempts}`,
    );
  const retry =
    attempts === 1 ? '{ maxAttempts: 1 }' : `{ maxAttempts: ${attempts}, base: '10s', max: '6m', jitter: 0 }`;
  return { timeout: deadline === null || deadline < 1 ? null : secondsText(deadline), retry };
}

/** What the report says of all CronJobs. @param running those that are taken, and not suspended */
export function kubernetesNotes(zone: string, running: readonly CronJobManifest[]): string[] {
  return [
    `A CronJob without timeZone goes by the clock of kube-controller-manager, which is normally UTC; here ${zone} (--timezone).`,
    'What the clock skips is not started, what it repeats is started twice, as by Kubernetes (dst: literal).',
    'Its command is executed where Tock runs, as that user: an image, volumes, resources and a service account do not hold.',
    'A command gets the environment of the process that ticks, and env besides.',
    'How many finished runs are kept is decided for all (retention, tock prune), not by successfulJobsHistoryLimit.',
    'When the definitions are in the job module, suspend the CronJobs before the first tick with them:',
    ...running.map(({ name, namespace }) => `  ${patch(name, namespace, true)}`),
    'To go back, the same with false, after tock pause NAME. Without startingDeadlineSeconds, Kubernetes then starts at once',
    'what came due while it was suspended.',
  ];
}

function patch(name: string, namespace: string | null, suspend: boolean): string {
  const where = namespace === null ? '' : ` --namespace ${namespace}`;
  return `kubectl patch cronjob ${name}${where} --patch '{"spec":{"suspend":${suspend}}}'`;
}
