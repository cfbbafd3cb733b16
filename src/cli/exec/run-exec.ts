// What `tock exec` does with its run, its signals and its output.

import type { OutputName } from '../../engine/execute/shell/run-command.js';
import type { ExecBeginning } from '../../engine/operate/exec/begin-exec.js';
import { type ExecEnvironment, executeCommand } from '../../engine/operate/exec/execute-command.js';
import { StopRequests } from '../../engine/operate/exec/stop-requests.js';
import { systemClock } from '../../environment/system-clock.js';
import { TockError } from '../../model/errors.js';
import type { ExecOptions, ExecPlan } from '../../model/shell/exec-options.js';
import { judgeError } from '../../runtime/exit-codes.js';
import { onStopSignal } from '../../runtime/stop-signal.js';
import { type Shell, withTock } from '../shell.js';

export interface ExecPolicy {
  /** If given, it also holds where no database is named; without it that is a usage error. */
  readonly ifUnreachable?: 'run' | 'skip';
  /** Exit code of a skipped run. */
  readonly skipCode: number;
}

/** Resolves to the exit code. */
export async function runExec(
  shell: Shell,
  options: ExecOptions,
  plan: ExecPlan,
  policy: ExecPolicy,
): Promise<number> {
  const stops = stopRequests();
  const common = { clock: systemClock, stops, onOutput: passOn, note: (text: string) => shell.note(text) };
  let exitCode: number | null = null;
  try {
    await withTock(shell, { needsJobs: false }, async ({ tock }) => {
      const beginning = await tock.beginExec(options, stops.signal);
      exitCode = await executeBegun(shell, plan, policy, beginning, common);
    });
  } catch (error) {
    // The command has ended, and only closing the connections failed.
    if (exitCode !== null) return exitCode;
    const message = whyAway(error, shell, policy);
    shell.note(`${message}; the command is executed without a run in the history`);
    return (await executeCommand(plan, { ...common, run: null, key: null, minute: null })).exitCode;
  }
  return exitCode ?? 1;
}

/** Of a database that cannot be reached. */
const UNREACHABLE = 3;

/** Why the command is executed without a run. Throws if it is not to be executed. */
function whyAway(error: unknown, shell: Shell, { ifUnreachable }: ExecPolicy): string {
  const { exitCode, code, message } = judgeError(error, shell.config.schema);
  if (code === 'TOCK_NO_DATABASE') {
    if (ifUnreachable === undefined)
      throw new TockError(code, `${message}; or execute it without history: --if-unreachable run`);
    if (ifUnreachable === 'skip')
      throw new TockError('TOCK_DATABASE_UNREACHABLE', `${message}; the command is not executed`);
    return message;
  }
  if (exitCode !== UNREACHABLE || ifUnreachable === 'skip') throw error;
  return message;
}

async function executeBegun(
  shell: Shell,
  plan: ExecPlan,
  { skipCode }: ExecPolicy,
  beginning: ExecBeginning,
  common: Pick<ExecEnvironment, 'clock' | 'stops' | 'onOutput' | 'note'>,
): Promise<number> {
  if (beginning.kind !== 'begun') {
    // Cron mails whatever is printed: with the exit code 0, only a person at a terminal is to read this.
    if (process.stderr.isTTY || skipCode !== 0) shell.note(skippedText(beginning));
    return skipCode;
  }
  const { run, key, minute } = beginning;
  const { exitCode, recorded } = await executeCommand(plan, { ...common, run, key, minute });
  if (recorded?.kind === 'lost')
    shell.note(`run ${run.id} was taken for dead before; the exit code ${exitCode} is not recorded`);
  if (recorded?.kind === 'unwritten') {
    const { message } = judgeError(recorded.reason, shell.config.schema);
    shell.note(
      `the exit code ${exitCode} of run ${run.id} is not recorded, and the run will be taken for dead: ${message}`,
    );
  }
  return exitCode;
}

function skippedText(beginning: Exclude<ExecBeginning, { kind: 'begun' }>): string {
  if (beginning.kind === 'overlap') {
    const live = beginning.liveId === null ? 'an earlier run' : `run ${beginning.liveId}`;
    return `skipped, because ${live} is still live (see --overlap); this is run ${beginning.id}`;
  }
  const { id, key, status } = beginning;
  return `skipped, because ${key} belongs to run ${id}, which ${status === null ? 'was pruned' : `is ${status}`}; another --key makes another run`;
}

/** From now on, signals do not end this process: its command gets them. */
function stopRequests(): StopRequests {
  const stops = new StopRequests();
  onStopSignal(name => stops.receive(name));
  return stops;
}

/** As it comes, byte by byte. A slow reader makes the command wait; one that is gone does not. */
function passOn(name: OutputName, chunk: Buffer): Promise<void> | null {
  const stream = name === 'stdout' ? process.stdout : process.stderr;
  if (stream.destroyed || stream.writableEnded) return null;
  let written: () => void = () => undefined;
  const isWritten = new Promise<void>(resolve => {
    written = resolve;
  });
  return stream.write(chunk, () => written()) ? null : isWritten;
}
