// All commands, the general help, and usage errors.
import { Command, CommanderError } from 'commander';
import { lossSince } from '../environment/output.js';
import { packageVersion } from '../environment/paths.js';
import { shellWord } from '../model/shell-word.js';
import { VARIABLES } from '../runtime/configuration.js';
import { addAlerts } from './commands/alerts.js';
import { addAudit } from './commands/audit.js';
import { addCapacity } from './commands/capacity.js';
import { addCompletion } from './commands/completion.js';
import { addMigrate } from './commands/database/migrate.js';
import { addPrune } from './commands/database/prune.js';
import { addSchema } from './commands/database/schema.js';
import { addUninstall } from './commands/database/uninstall.js';
import { addDeploy } from './commands/deploy.js';
import { addDoctor } from './commands/doctor.js';
import { addErrors } from './commands/errors.js';
import { addFreeze, addThaw } from './commands/freeze.js';
import { addImport } from './commands/import.js';
import { addInit } from './commands/init.js';
import { addKey } from './commands/key.js';
import { addMetrics } from './commands/metrics.js';
import { addCrontab } from './commands/processes/crontab.js';
import { addDashboard } from './commands/processes/dashboard.js';
import { addMcp } from './commands/processes/mcp.js';
import { addRelay } from './commands/processes/relay.js';
import { addStart } from './commands/processes/start.js';
import { addTick } from './commands/processes/tick.js';
import { addQueue } from './commands/queue.js';
import { addCancel, addRetry } from './commands/runs/act.js';
import { addComplete, addFail } from './commands/runs/complete.js';
import { addEdit } from './commands/runs/edit.js';
import { addEmit } from './commands/runs/emit.js';
import { addExec } from './commands/runs/exec.js';
import { addGroup } from './commands/runs/group.js';
import { addRun } from './commands/runs/run.js';
import { addRuns } from './commands/runs/runs.js';
import { addShow } from './commands/runs/show.js';
import { addWhy } from './commands/runs/why.js';
import { addAdopt } from './commands/schedules/adopt.js';
import { addBackfill } from './commands/schedules/backfill.js';
import { addCalendar } from './commands/schedules/calendar.js';
import { addMove, addSkip } from './commands/schedules/except.js';
import { addJobs } from './commands/schedules/jobs.js';
import { addNext } from './commands/schedules/next.js';
import { addPause, addResume } from './commands/schedules/pause.js';
import { addPlan } from './commands/schedules/plan.js';
import { addProve } from './commands/schedules/prove.js';
import { addResetCursor } from './commands/schedules/reset-cursor.js';
import { addSchedule } from './commands/schedules/schedule.js';
import { addSimulate } from './commands/schedules/simulate.js';
import { addZones } from './commands/schedules/zones.js';
import { addStatus } from './commands/status.js';
import { withSettings } from './flags/common-flags.js';
import { lastExitCode, printError } from './shell.js';
import { hasColours, pasteable } from './terminal.js';

const GROUPS: readonly (readonly [string, readonly ((program: Command) => Command)[]])[] = [
  ['Run the scheduler:', [addTick, addStart, addRelay, addDashboard, addMcp, addPrune]],
  [
    'Inspect:',
    [
      addStatus,
      addDoctor,
      addJobs,
      addNext,
      addRuns,
      addErrors,
      addShow,
      addGroup,
      addWhy,
      addProve,
      addPlan,
      addZones,
      addSimulate,
      addAlerts,
      addAudit,
      addDeploy,
      addMetrics,
      addCapacity,
    ],
  ],
  ['Act:', [addRun, addExec, addRetry, addEdit, addCancel, addComplete, addFail, addEmit, addBackfill]],
  [
    'Plan:',
    [
      addSchedule,
      addCalendar,
      addPause,
      addResume,
      addSkip,
      addMove,
      addFreeze,
      addThaw,
      addQueue,
      addKey,
      addResetCursor,
    ],
  ],
  ['Set up:', [addInit, addCrontab, addImport, addMigrate, addSchema, addCompletion, addAdopt, addUninstall]],
];

/** Their exit code is that of their work, and what they print is only about it. */
const WORKERS: readonly string[] = ['tick', 'start', 'relay', 'dashboard', 'mcp', 'prune', 'exec'];

/** Whether the command is called for its work, not for its answer. */
export function isWorker([command = '', flag = '']: readonly string[]): boolean {
  return WORKERS.includes(command) && !['--help', '-h'].includes(flag);
}

/** The exit code. A command whose answer could not be written has failed; the error says so. */
export async function runProgram(args: readonly string[]): Promise<number> {
  const exitCode = await execute(args);
  const lost = lossSince(0, ['stdout']);
  if (lost === null) return exitCode;
  const isWork = isWorker(args);
  const what = isWork
    ? 'some of what was printed is lost; the exit code is that of the work'
    : 'the answer is not complete; all else is done';
  const error = { code: 'TOCK_OUTPUT_LOST', message: `${lost}: ${what}` };
  printError(args[0] ?? '', !isWork && args.includes('--json'), error);
  return exitCode === 0 && !isWork ? 1 : exitCode;
}

async function execute(args: readonly string[]): Promise<number> {
  const [first, second] = args;
  const program = await createProgram(first);
  if (first === 'help') return await execute(second === undefined ? ['--help'] : [second, '--help']);
  if (args.length === 0) {
    program.outputHelp({ error: true });
    return 2;
  }
  try {
    // Of a command that there is not, --help would be that of the program.
    const isKnown = first?.startsWith('-') || program.commands.some(each => each.name() === first);
    await program.parseAsync(isKnown ? [...args] : args.slice(0, 1), { from: 'user' });
    return lastExitCode();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    reportUsage(program, args, error);
    return 2;
  }
}

export async function createProgram(command: string | undefined): Promise<Command> {
  // What imports is loaded only for these.
  const { addSources } =
    command === 'import' || command === 'completion' ? await import('./import/commands.js') : {};

  const program = new Command('tock')
    .description('A scheduler for PostgreSQL: cron wakes it, the database decides, TypeScript runs.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help; tock <command> --help has examples')
    .usage('<command> [options]')
    .exitOverride()
    // reportUsage prints one line instead of commander's text.
    .configureOutput({
      outputError: () => undefined,
      writeOut: text => process.stdout.write(helpAsCalled(text)),
      getOutHasColors: () => hasColours(process.stdout),
      getErrHasColors: () => hasColours(process.stderr),
    })
    .configureHelp({ styleTitle: bold, subcommandTerm: termOf })
    .showSuggestionAfterError(true)
    .helpCommand(false)
    .addHelpText('after', afterHelp());
  for (const [title, adders] of GROUPS) {
    for (const add of adders) {
      const added = add(program);
      if (add === addImport) addSources?.(added);
      withSettings(added).helpGroup(title).helpOption('-h, --help', 'print this help');
    }
  }
  return program;
}

/** The usage and the examples are there to be pasted; what is wrapped keeps its width. */
function helpAsCalled(text: string): string {
  const called = (part: string) => pasteable(part, process.stdout);
  return text.replace(/Usage:.*/, called).replace(/^Examples:$[^]*/m, called);
}

function bold(text: string): string {
  // Commander removes colours if the stream has none.
  return `\u001B[1m${text}\u001B[0m`;
}

/** `show <run>`, without commander's [options]. */
function termOf(command: Command): string {
  const names = command.registeredArguments.map(argument => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...names].join(' ');
}

function afterHelp(): string {
  const width = Math.max(...Object.keys(VARIABLES).map(name => name.length));
  const variables = Object.entries(VARIABLES).map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}`);
  return `
Environment:
${variables.join('\n')}

Exit codes:
  0 ok, 1 failed, 2 usage error, 3 database unreachable; doctor --exit-code and status --check: 4 a warning

Examples:
  tock start                                    run the scheduler here until Ctrl-C
  tock run weekly-run-report --wait             execute one run of a job now and see its outcome
  tock next --cron '30 2 * * *' --timezone America/New_York --from 2026-03-07T00:00:00Z
                                                when a schedule fires, daylight saving time included`;
}

/** For an argument too many: the flag that takes it. */
function meantBy(command: Command, { code }: CommanderError): string {
  const { args, registeredArguments: taken, options } = command;
  const extra = args[taken.length];
  if (code !== 'commander.excessArguments' || extra === undefined) return '';
  const has = (flag: string) => options.some(({ long }) => long === flag);
  const isPayload = taken.length > 0 && /^\s*[[{]/.test(extra) && has('--payload');
  if (!isPayload && !has('--job')) return '';
  const given = [command.name(), ...args.slice(0, taken.length).map(shellWord)].join(' ');
  return `; did you mean tock ${given} ${isPayload ? '--payload' : '--job'} ${shellWord(extra)}?`;
}

function reportUsage(program: Command, args: readonly string[], error: CommanderError): void {
  const command = program.commands.find(each => each.name() === args[0]);
  const name = command?.name() ?? '';
  const meant = command === undefined ? '' : meantBy(command, error);
  const problem = error.message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/^option '(?:-\w, )?(--[\w-]+)[^']*' argument '([^]*)' is invalid\. /, '$1 $2: ')
    .replace(/^too many arguments for '[^']*'\. Expected (.*?)\.?$/, 'too many arguments: expected $1')
    .trim();
  const message = `${problem}${meant} (see tock ${name === '' ? '' : `${name} `}--help)`;
  printError(name, args.includes('--json'), { code: 'TOCK_BAD_OPTION', message });
}
