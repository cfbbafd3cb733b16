// `tock metrics`: metrics for Prometheus, on standard output or in a file for node_exporter.
import { type Command, Option } from 'commander';
import { TockError } from '../../model/errors.js';
import type { MetricsOptions } from '../../model/metrics/options.js';
import { quote } from '../../model/names.js';
import { ALL } from '../databases/each-database.js';
import { count, examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';

interface MetricsFlags extends CommonOptions {
  readonly all?: true;
  readonly format?: NonNullable<MetricsOptions['format']>;
  readonly textfile?: string;
  readonly maxJobs?: number;
  readonly maxSchedules?: number;
}

export function addMetrics(program: Command): Command {
  return withJson(program.command('metrics'))
    .summary('metrics for Prometheus: ends, durations and waits of runs, queues, schedules')
    .description(
      'Prints metrics as OpenMetrics, or writes them to a file that the textfile collector of node_exporter reads. They come from the database alone, so one host publishes them for all. The file is replaced in one step, and stays as it is if that fails. docs/metrics.md says what each metric means.',
    )
    .addOption(
      new Option(
        '--format <format>',
        'openmetrics, or prometheus: the older text format (default openmetrics; with --textfile prometheus)',
      ).choices(['openmetrics', 'prometheus']),
    )
    .option('--textfile <path>', 'write a file instead; its name ends in .prom')
    .option(...ALL)
    .option('--max-jobs <n>', 'publish at most n pairs of a job and a queue (default 500)', count(0, 100_000))
    .option('--max-schedules <n>', 'publish at most n schedules (default 1000)', count(0, 100_000))
    .addHelpText(
      'after',
      examples(
        ['tock metrics', 'what a scrape gets'],
        [
          '* * * * * cd /srv/app && npx tock metrics --textfile /var/lib/node_exporter/tock.prom',
          'a line for the crontab',
        ],
      ),
    )
    .action(action(metrics));
}

async function metrics(shell: Shell, flags: MetricsFlags): Promise<number> {
  const { textfile, maxJobs, maxSchedules } = flags;
  if (textfile !== undefined) checkTextfile(textfile, flags);
  if (flags.all) {
    // Loaded late, like everything that only one flag needs.
    const { metricsOfAll } = await import('../databases/metrics-of-all.js');
    await publish(shell, flags, async format => await metricsOfAll(shell, format, { maxJobs, maxSchedules }));
    return 0;
  }
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    await publish(shell, flags, async format => await tock.metrics({ format, maxJobs, maxSchedules }));
    return 0;
  });
}

type Read = (format: NonNullable<MetricsOptions['format']>) => Promise<string>;

async function publish(shell: Shell, { textfile, format }: MetricsFlags, read: Read): Promise<void> {
  if (textfile !== undefined) {
    const { replaceFile } = await import('../replace-file.js');
    await replaceFile(textfile, await read('prometheus'));
  } else if (shell.json) {
    shell.document(JSON.parse(await read('json')));
  } else {
    process.stdout.write(await read(format ?? 'openmetrics'));
  }
}

function checkTextfile(textfile: string, { format, json }: MetricsFlags): void {
  if (!textfile.endsWith('.prom'))
    throw new TockError(
      'TOCK_BAD_OPTION',
      `--textfile ${quote(textfile)} does not end in .prom: node_exporter reads no other files`,
    );
  if (format === 'openmetrics' || json === true)
    throw new TockError(
      'TOCK_BAD_OPTION',
      '--textfile writes the format prometheus: node_exporter reads no other',
    );
}
