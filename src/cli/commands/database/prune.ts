// `tock prune`: deletes old runs and keys, as a worker does once a day.
import { type Command, Option } from 'commander';
import { formatDuration } from '../../../model/duration.js';
import type { PruneOptions, PruneResult } from '../../../model/scheduler-view.js';
import { duration, examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { paint } from '../../terminal.js';
import { createProgressView } from '../../views/progress-view.js';
import { counted } from '../../views/size-text.js';

interface PruneFlags extends CommonOptions {
  readonly keep?: string;
  readonly keepSucceeded?: string;
  readonly keepDead?: string;
  readonly keepCancelled?: string;
  readonly keepSkipped?: string;
  readonly keepKeys?: string;
  readonly keepLogs?: string;
  readonly keepAudit?: string;
  readonly keepEvents?: string;
  readonly partition?: NonNullable<PruneOptions['partition']>;
}

export function addPrune(program: Command): Command {
  return withJson(program.command('prune'))
    .summary('delete old runs, and create the coming partitions')
    .description(
      'Deletes old finished runs: detaches and drops the partitions whose time is over, except the runs of states that are kept longer. Deletes old keys and effects in batches, and creates the coming partitions. A process that ticks with the owner’s rights does the same once a day. What is not named here is kept as long as those processes keep it. Safe to interrupt and to repeat. Needs the owner’s rights.',
    )
    .option(
      '--keep <duration>',
      'finished runs of the states that no other option names (default: as those that tick keep them, or 90d)',
      duration,
    )
    .option('--keep-succeeded <duration>', 'succeeded runs (default: as --keep)', duration)
    .option('--keep-dead <duration>', 'dead runs (default: as --keep)', duration)
    .option('--keep-cancelled <duration>', 'cancelled runs (default: as --keep)', duration)
    .option('--keep-skipped <duration>', 'skipped runs (default: as --keep)', duration)
    .option(
      '--keep-keys <duration>',
      'keys and effects (default: as those that tick do, or 400d); not shorter than the others',
      duration,
    )
    .option('--keep-logs <duration>', 'logs of runs (default: as long as the longest of these)', duration)
    .option('--keep-audit <duration>', 'rows of the audit (default 365d)', duration)
    .option('--keep-events <duration>', 'events, for waits that begin later (default 7d)', duration)
    .addOption(
      new Option(
        '--partition <unit>',
        'size of the coming partitions (default auto: days from a million runs per day on)',
      ).choices(['month', 'day', 'auto']),
    )
    .addHelpText(
      'after',
      examples(
        ['tock prune', 'keep what the processes that tick keep'],
        [
          'tock prune --keep 30d --keep-succeeded 7d --keep-dead 400d --partition day',
          'different for each state',
        ],
      ),
    )
    .action(action(prune));
}

async function prune(shell: Shell, flags: PruneFlags): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const view = createProgressView(shell);
    const result = await tock
      .prune({
        keep: {
          succeeded: flags.keepSucceeded,
          dead: flags.keepDead,
          cancelled: flags.keepCancelled,
          skipped: flags.keepSkipped,
          default: flags.keep,
        },
        keepKeys: flags.keepKeys,
        keepLogs: flags.keepLogs,
        keepAudit: flags.keepAudit,
        keepEvents: flags.keepEvents,
        ...(flags.partition === undefined ? {} : { partition: flags.partition }),
        onProgress: ({ stage, done, total }) => view.show(done, total, stage),
      })
      .finally(view.end);
    shell.document(result);
    for (const line of resultLines(result)) shell.say(line);
    return result.isBusy || result.left.length > 0 ? 1 : 0;
  });
}

/** `keeps runs for 90d, keys for 400d, …`; by state where these differ. */
function keptLine({ keys, logs, audit, events, ...runs }: PruneResult['keeps']): string {
  const spans = Object.entries(runs);
  const byState = new Set(spans.map(([, ms]) => ms)).size > 1;
  const named = byState
    ? spans.map(([state, ms]) => [`${state} runs`, ms] as const)
    : [['runs', runs.succeeded] as const];
  const all = [...named, ['keys', keys], ['logs', logs], ['the audit', audit], ['events', events]] as const;
  return `keeps ${all.map(([what, ms]) => `${what} for ${formatDuration(ms)}`).join(', ')}`;
}

function resultLines(result: PruneResult): string[] {
  const { droppedPartitions: dropped, keptRuns, deletedRuns, deletedKeys, deletedEffects, left } = result;
  const { deletedAudit, deletedEvents } = result;
  if (result.isBusy) return ['another prune changes partitions now; they, runs and keys were left to it'];
  const lines = [
    keptLine(result.keeps),
    dropped.length === 0
      ? 'no partition is old enough to drop'
      : `dropped ${counted(dropped.length, 'partition')}: ${dropped.join(', ')}`,
    ...(keptRuns > 0
      ? [`kept ${counted(keptRuns, 'run')} of them: runs in their state are kept longer`]
      : []),
    `deleted ${counted(deletedRuns, 'run')}, ${counted(deletedKeys, 'key')} and ${counted(deletedEffects, 'effect')} in batches`,
    ...(deletedEvents > 0 ? [`deleted ${counted(deletedEvents, 'event')}`] : []),
    ...(deletedAudit > 0 ? [`deleted ${counted(deletedAudit, 'row')} of the audit`] : []),
    `created ${counted(result.madePartitions, 'partition')}, one per ${result.partition}`,
  ];
  if (left.length > 0)
    lines.push(
      `${paint('bold', 'left')} for the next prune, because other sessions held locks for too long: ${left.join(', ')} (see pg_blocking_pids)`,
    );
  return lines;
}
