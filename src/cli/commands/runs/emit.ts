// `tock emit`: emits an event, for which runs wait by ctx.waitFor.
import type { Command } from 'commander';
import { examples, withJson } from '../../flags/flags.js';
import { readPayload } from '../../flags/payload-source.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';

interface EmitFlags extends CommonOptions {
  readonly key?: string;
  readonly payload?: string;
}

export function addEmit(program: Command): Command {
  return withJson(program.command('emit'))
    .summary('emit an event, for which runs wait')
    .description(
      'Emits an event. Runs whose handlers wait for it by ctx.waitFor go on, and so do those that begin to wait for it within seven days: events are not used up.',
    )
    .argument('<event>', 'its name')
    .option('--key <key>', 'which of the events of this name, such as an order’s number')
    .option('--payload <json>', 'what handlers get with it; @file reads a file, - reads standard input')
    .addHelpText(
      'after',
      examples(
        ['tock emit paid --key order-7', 'runs that wait for order-7 to be paid go on'],
        [`tock emit paid --key order-7 --payload '{"amount": 5}'`, 'with what their handlers get'],
      ),
    )
    .action(action(emit));
}

async function emit(shell: Shell, { key, payload }: EmitFlags, event: string): Promise<number> {
  const value = await readPayload(payload);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const id = await tock.emit(event, { ...(key === undefined ? {} : { key }), payload: value });
    shell.document({ id });
    const words = `${event}${key === undefined ? '' : ` of ${key}`}`;
    shell.say(`emitted ${paint('bold', cleanLine(words))}: event ${id}`);
    return 0;
  });
}
