// `tock complete` and `tock fail`: what has become of a run that was handed off. Exit code 1: too late.
import type { Command } from 'commander';
import { TockError } from '../../../model/errors.js';
import { handOffState } from '../../../model/run/hand-off-record.js';
import type { RunRecord } from '../../../model/run/run-record.js';
import { isFinished } from '../../../model/run/states.js';
import type { Tock } from '../../../tock/types.js';
import { examples, instant, withJson } from '../../flags/flags.js';
import { type MessageId, readMessageId } from '../../flags/message-id.js';
import { readPayload } from '../../flags/payload-source.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint, paintStatus } from '../../terminal.js';

interface CompleteFlags extends CommonOptions {
  readonly result?: string;
  readonly note?: string;
}

interface FailFlags extends CommonOptions {
  readonly dead?: true;
  readonly retryAt?: Date;
}

const MESSAGE_ID = ['<run.fence>', 'message id of the handoff: the run, a dot, the fence'] as const;

export function addComplete(program: Command): Command {
  const command = withJson(program.command('complete'))
    .summary('complete a run that was handed off')
    .description(
      'Completes a run that its handler has handed off: it has succeeded. The next tick or daemon writes that. Changes nothing, with exit code 1, if it comes too late or the fence is another.',
    )
    .argument(...MESSAGE_ID)
    .option('--result <json>', 'the output of the run; @file reads a file, - reads standard input')
    .option('--note <text>', 'kept with your name in the audit')
    // What else is given shows what was meant.
    .allowExcessArguments()
    .addHelpText(
      'after',
      examples(
        ['tock complete 812.1', 'run 812, handed off under the fence 1'],
        [`tock complete 812.1 --result '{"paid": true}'`, 'with its output'],
        ["tock complete 812.1 --note 'signed on paper'", 'with a word for the audit'],
      ),
    );
  return command.action(
    action(async (shell: Shell, { result, note }: CompleteFlags) => {
      const message = readMessageId(command.args);
      requireNoMore(
        command,
        1,
        `a result goes into an option: tock complete ${nameOf(message)} --result '…'`,
      );
      const output = await readPayload(result, 'result');
      const options = note === undefined ? {} : { note };
      return await decide(shell, message, {
        verb: 'is completed',
        call: async (tock, { id, fence }) => await tock.complete(id, fence, output, options),
      });
    }),
  );
}

export function addFail(program: Command): Command {
  const command = withJson(program.command('fail'))
    .summary('end the attempt of a run that was handed off as failed')
    .description(
      'Ends the attempt of a run that its handler has handed off as failed. It is tried again after the backoff of its job while attempts are left, else it is dead. The next tick or daemon writes that. Changes nothing, with exit code 1, if it comes too late or the fence is another.',
    )
    .argument(...MESSAGE_ID)
    .argument('<message>', 'why it has failed; kept as its error')
    .option('--dead', 'do not try it again')
    .option('--retry-at <instant>', 'try it again at this time, such as 2026-03-08T07:30:00Z', instant)
    .allowExcessArguments()
    .addHelpText(
      'after',
      examples(
        ["tock fail 812.1 'the bank does not answer'", 'tried again after the backoff'],
        ["tock fail 812.1 'the account is closed' --dead", 'never tried again'],
        ["tock fail 812.1 'closed today' --retry-at 2026-03-09T07:00:00Z", 'tried again then'],
      ),
    );
  return command.action(
    action(async (shell: Shell, { dead, retryAt }: FailFlags, _id: string, text: string) => {
      const message = readMessageId(command.args);
      requireNoMore(command, 2, `quote the message: tock fail ${nameOf(message)} '…'`);
      if (dead && retryAt !== undefined)
        throw new TockError(
          'TOCK_BAD_OPTION',
          '--dead and --retry-at exclude each other: a dead run is not tried again',
        );
      const options = { retry: dead !== true, ...(retryAt === undefined ? {} : { retryAt }) };
      return await decide(shell, message, {
        verb: dead ? 'has failed and is not tried again' : 'has failed in this attempt',
        call: async (tock, { id, fence }) => await tock.fail(id, fence, text, options),
      });
    }),
  );
}

const nameOf = ({ id, fence }: MessageId) => `${id}.${fence}`;

function requireNoMore({ args }: Command, most: number, remedy: string): void {
  if (args.length <= most) return;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `too many arguments: expected ${most} but got ${args.length}; ${remedy}`,
  );
}

interface Decision {
  /** What has become of the run, after its name. */
  readonly verb: string;
  readonly call: (tock: Tock, message: MessageId) => Promise<boolean>;
}

async function decide(shell: Shell, message: MessageId, { verb, call }: Decision): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const held = await call(tock, message);
    const run = await tock.runs.get(message.id);
    shell.document({ ...message, held, run });
    if (held) shell.say(heldText(run, message, verb));
    else if (!shell.json) shell.note(`too late, nothing was changed: ${whyNot(run, message)}`);
    return held ? 0 : 1;
  });
}

const titleOf = (run: RunRecord | null, { id }: MessageId) =>
  run === null ? `run ${id}` : `run ${id} of ${paint('bold', cleanLine(run.job))}`;

function heldText(run: RunRecord | null, message: MessageId, verb: string): string {
  const title = titleOf(run, message);
  if (run === null) return `${title} ${verb}`;
  // A daemon may have written it already.
  if (run.status !== 'running' || run.fence !== message.fence)
    return `${title} is ${paintStatus(run.status)}`;
  return run.handOff === null
    ? `${title} ${verb}; that counts once its handler has handed it off`
    : `${title} ${verb}; the next tick writes that (tock tick)`;
}

function whyNot(run: RunRecord | null, message: MessageId): string {
  if (run === null) return `there is no run ${message.id}`;
  const title = `run ${run.id} of ${cleanLine(run.job)}`;
  if (isFinished(run.status)) return `${title} is ${run.status}`;
  if (run.fence !== message.fence) return `${title} has the fence ${run.fence} now`;
  if (run.handOff === null) return `${title} is ${run.status}, and that attempt has ended`;
  const { text } = handOffState(run.handOff, run.cancelRequestedAt !== null, Date.now());
  return cleanLine(`${title}: ${text}`);
}
