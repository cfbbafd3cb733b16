// `tock capacity`: today's rates and sizes, how they grow, and what ends first.
import { type Command, InvalidArgumentError } from 'commander';
import { readSize } from '../../model/capacity/options.js';
import { examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { sayCapacity } from '../views/capacity-text.js';

interface CapacityFlags extends CommonOptions {
  readonly disk?: number;
  readonly cores?: number;
}

export function addCapacity(program: Command): Command {
  return withJson(program.command('capacity'))
    .summary('how much is used, how it grows, what ends first')
    .description(
      'Shows how many runs a day there are and how that grows, what the history takes, and what ends first: disk, CPU, WAL, connections or the workers’ slots; when, and what to do. It takes a tenth of a second of the server’s CPU, to learn how fast that is.',
    )
    .option('--disk <size>', 'what the database may take on the disk, such as 200GB', size)
    .option('--cores <n>', 'cores of the server that Tock may use (default 1)', cores)
    .addHelpText(
      'after',
      examples(
        ['tock capacity --disk 200GB --cores 4', 'when a disk of 200 GB is full, or four cores are busy'],
        ["tock capacity --json | jq '.endsFirst'", 'what ends first'],
      ),
    )
    .action(action(capacity));
}

async function capacity(shell: Shell, { disk, cores: allowed }: CapacityFlags): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const report = await tock.capacity({ disk, cores: allowed });
    shell.document(report);
    if (!shell.json) await sayCapacity(shell, report);
    return 0;
  });
}

function size(text: string): number {
  try {
    return readSize(text);
  } catch {
    throw new InvalidArgumentError('write a size such as 200GB or 1.5TB');
  }
}

function cores(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (value > 0 && value <= 4096) return value;
  throw new InvalidArgumentError('it must be a number above 0, such as 4 or 0.5');
}
