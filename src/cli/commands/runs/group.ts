// `tock group`: a group of runs and its join; `continue`, `retry` and `cancel` act on all of it at once.
import type { Command } from 'commander';
import { TockError } from '../../../model/errors.js';
import { type GroupActed, type GroupRecord, unsuccessfulOf } from '../../../model/run/group-record.js';
import { isNever } from '../../../model/run/run-wait.js';
import type { Tock } from '../../../tock/types.js';
import { isConfirmed } from '../../confirm.js';
import { checkRunId, count, examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { flowText } from '../../views/flow-text.js';
import { groupText } from '../../views/group-text.js';

interface ActFlags extends CommonOptions {
  readonly yes?: true;
  readonly attempts?: number;
  readonly reason?: string;
}

const OF = 'id of the join, or of a member';

export function addGroup(program: Command): Command {
  const group = withJson(program.command('group'))
    .summary('a group of runs: how far it is, what its join waits for, what failed')
    .description(
      'Shows a group of runs that one run, the join, waits for: its members by state, the slowest, the errors. For a run of a flow, the runs of the flow and the critical path. Subcommands continue, retry and cancel a group.',
    )
    .argument('[run]', `${OF}; or continue, retry, cancel: see tock group retry --help`)
    // Lets flags after the subcommand belong to the subcommand.
    .enablePositionalOptions()
    .addHelpText(
      'after',
      examples(
        ['tock group 812', 'how far it is, and what it waits for'],
        ['tock group retry 812', 'all dead members; asks first'],
        ['tock group continue 812', 'its join starts although some members did not succeed'],
        ['tock runs --group 812 --status dead', 'the members that are dead'],
      ),
    )
    .action(action(show));
  const acts = [
    withJson(group.command('continue'))
      .summary('let the join start although some members did not succeed')
      .description(
        'From now on the join waits only for the ends of its members; it starts at once if all have ended.',
      )
      .argument('<run>', OF)
      .option('--yes', 'do not ask; required without a terminal')
      .action(action(proceed)),
    withJson(group.command('retry'))
      .summary('put all dead members back into the queue')
      .description('Puts all dead members back into the queue, due now, in one transaction.')
      .argument('<run>', OF)
      .option('--attempts <n>', 'how many more attempts', count(1, 1_000_000))
      .option('--yes', 'do not ask; required without a terminal')
      .action(action(retry)),
    withJson(group.command('cancel'))
      .summary('cancel the join and all members that have not ended')
      .description(
        'Cancels the join and all members that have not ended, in one transaction. The handlers of running ones are asked to stop.',
      )
      .argument('<run>', OF)
      .option('--reason <text>', 'kept with the runs')
      .option('--yes', 'do not ask; required without a terminal')
      .action(action(cancel)),
  ];
  for (const each of acts) each.helpOption('-h, --help', 'print this help');
  return group;
}

async function show(shell: Shell, _flags: CommonOptions, id: string | undefined): Promise<number> {
  if (id === undefined)
    throw new TockError('TOCK_BAD_OPTION', 'give the id of a group’s join or of a member: tock group 812');
  const checked = checkRunId(id);
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    const [group, flow] = await Promise.all([find(tock, checked), tock.flow(checked)]);
    shell.document({ group, ...(flow === null ? {} : { flow }) });
    if (shell.json) return 0;
    shell.say(flow === null ? await groupText(group) : await flowText(flow));
    return 0;
  });
}

/** @throws TockError TOCK_NOT_FOUND */
async function find(tock: Tock, id: string): Promise<GroupRecord> {
  const group = await tock.group(id);
  if (group !== null) return group;
  throw new TockError(
    'TOCK_NOT_FOUND',
    `run ${id} is neither the join nor a member of a group, or it has been pruned (tock runs lists the runs)`,
  );
}

/** Says what would be done, asks, and does it. Exit code 1 if nothing was, or something could not be. */
async function act(
  shell: Shell,
  flags: ActFlags,
  id: string,
  plan: (group: GroupRecord) => { readonly what: string | null; readonly none: string },
  carryOut: (
    tock: Tock,
    group: GroupRecord,
  ) => Promise<{ readonly isDone: boolean; readonly text: string; readonly document: object }>,
  otherwise?: typeof startAlone,
): Promise<number> {
  const checked = checkRunId(id);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const done = (await otherwise?.(shell, flags, tock, checked)) ?? null;
    if (done !== null) return done;
    const group = await find(tock, checked);
    const { what, none } = plan(group);
    if (what === null) {
      shell.document({ group: group.id, done: 0 });
      shell.say(none);
      return 0;
    }
    if (!(await isConfirmed(shell, flags.yes, what))) {
      shell.note('nothing was changed');
      return 1;
    }
    const { isDone, text, document } = await carryOut(tock, group);
    shell.document({ group: group.id, ...document });
    shell.say(text);
    return isDone ? 0 : 1;
  });
}

const named = ({ id, job }: GroupRecord) => `group ${id} of ${paint('bold', cleanLine(job))}`;
const plain = ({ id, job }: GroupRecord) => `group ${id} of ${cleanLine(job)}`;
const runs = (number: number) => `${number.toLocaleString('en')} run${number === 1 ? '' : 's'}`;

async function proceed(shell: Shell, flags: ActFlags, id: string): Promise<number> {
  return await act(
    shell,
    flags,
    id,
    group => ({
      what:
        group.endedAt !== null || group.status !== 'queued'
          ? null
          : `continue ${plain(group)}, in which ${runs(unsuccessfulOf(group))} did not succeed`,
      none: `the join of ${named(group)} waits no longer`,
    }),
    async (tock, group) => {
      const isContinued = await tock.continueGroup(group.id);
      return {
        isDone: isContinued,
        text: isContinued
          ? `${named(group)} waits only for the ends of its members now`
          : `the join of ${named(group)} waits no longer`,
        document: { continued: isContinued },
      };
    },
    startAlone,
  );
}

/** Of a run that is no join yet: occurrences in its data interval have no run. Null: it is none of these. */
async function startAlone(shell: Shell, { yes }: ActFlags, tock: Tock, id: string): Promise<number | null> {
  const run = await tock.runs.get(id);
  if (run === null || run.status !== 'queued' || !isNever(run.runAt) || run.waits.length > 0) return null;
  if (!(await isConfirmed(shell, yes, `start run ${id} without the occurrences that have no run`))) {
    shell.note('nothing was changed');
    return 1;
  }
  const isContinued = await tock.continueGroup(id);
  shell.document({ group: id, continued: isContinued });
  shell.say(isContinued ? `run ${id} starts without them` : `run ${id} waits no longer`);
  return isContinued ? 0 : 1;
}

async function retry(shell: Shell, { attempts, ...flags }: ActFlags, id: string): Promise<number> {
  return await act(
    shell,
    flags,
    id,
    group => ({
      what: group.states.dead === 0 ? null : `retry ${runs(group.states.dead)} of ${plain(group)}`,
      none: `no run of ${named(group)} is dead`,
    }),
    async (tock, group) => {
      const acted = await tock.retryGroup(group.id, attempts === undefined ? {} : { attempts });
      return {
        ...ofActed(acted),
        text: `${runs(acted.done)} of ${named(group)} queued again${failures(acted)}`,
      };
    },
  );
}

async function cancel(shell: Shell, { reason, ...flags }: ActFlags, id: string): Promise<number> {
  return await act(
    shell,
    flags,
    id,
    group => {
      const { queued, running, failed } = group.states;
      const left = queued + running + failed + (group.status === 'queued' ? 1 : 0);
      return {
        what: left === 0 ? null : `cancel ${runs(left)} of ${plain(group)}, its join among them`,
        none: `all runs of ${named(group)} have ended`,
      };
    },
    async (tock, group) => {
      const acted = await tock.cancelGroup(group.id, reason === undefined ? {} : { reason });
      const asked = acted.asked === 0 ? '' : `, ${acted.asked.toLocaleString('en')} running, asked to stop`;
      return { ...ofActed(acted), text: `${runs(acted.done)} of ${named(group)} cancelled${asked}` };
    },
  );
}

const ofActed = (acted: GroupActed) => ({ isDone: acted.failed.length === 0, document: acted });

const failures = ({ failed }: GroupActed) =>
  failed.length === 0
    ? ''
    : `; ${failed.length} could not be: ${failed
        .slice(0, 3)
        .map(({ id, message }) => `run ${id}: ${cleanLine(message)}`)
        .join('; ')}`;
