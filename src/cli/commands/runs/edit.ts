// `tock edit`: gives a run another payload.
import type { Command } from 'commander';
import { TockError } from '../../../model/errors.js';
import { isFinished } from '../../../model/run/states.js';
import { SERVICE } from '../../flags/common-flags.js';
import { checkRunId, count, examples, withJson } from '../../flags/flags.js';
import { readPayload } from '../../flags/payload-source.js';
import { action, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { nextStep } from '../../views/run-text.js';

interface EditFlags {
  readonly payload?: string;
  readonly fence?: number;
  readonly attempts?: number;
}

export function addEdit(program: Command): Command {
  return withJson(program.command('edit'))
    .summary('give a run another payload, and retry one that has failed for good')
    .description(
      'Gives a run that waits another payload, checked by the schema of its job; puts a dead or cancelled run back into the queue with it.',
    )
    .argument('<run>', 'id of the run')
    .option(...SERVICE)
    .option('--payload <json>', 'JSON; @file reads a file, - reads standard input')
    .option(
      '--fence <n>',
      'only if the run has this fence, as tock show --json has it',
      count(0, 2_147_483_647),
    )
    .option('--attempts <n>', 'how many more attempts a dead or cancelled run gets', count(1, 1_000_000))
    .addHelpText(
      'after',
      examples(
        [`tock edit 812 --payload '{"to": "ann@example.com"}'`, 'a run that waits, or is dead'],
        ['tock show 812 --json > run.json', 'its payload and fence, to be edited'],
        ['tock edit 812 --payload @payload.json --fence 3', 'unless it has moved on since'],
      ),
    )
    .action(
      action(async (shell: Shell, { payload: given, fence, attempts }: EditFlags, run: string) => {
        const id = checkRunId(run);
        if (given === undefined)
          throw new TockError(
            'TOCK_BAD_OPTION',
            `--payload is missing: tock edit ${id} --payload '{…}'; to retry it as it is, tock retry ${id}`,
          );
        const payload = await readPayload(given);
        return await withTock(shell, {}, async ({ tock }) => {
          const before = await tock.runs.get(id);
          const edited = await tock.runs.edit(id, {
            payload,
            ...(fence === undefined ? {} : { fence }),
            ...(attempts === undefined ? {} : { attempts }),
          });
          shell.document({ run: edited });
          const retried = before !== null && isFinished(before.status) ? ', and is retried' : '';
          shell.say(
            `run ${paint('bold', id)} of ${cleanLine(edited.job)} has another payload${retried}: ${nextStep(edited, Date.now(), await tock.frozen())}`,
          );
          return 0;
        });
      }),
    );
}
