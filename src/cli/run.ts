// What `tock` does. Exit codes: 0 ok, 1 failed, 2 usage error, 3 database unreachable. Text or JSON goes to
// standard output, logs and errors to standard error.
import { endOutput, READER_TIMEOUT_MS, surviveLostOutput } from '../environment/output.js';
import { isWorker, runProgram } from './program.js';

/** Executes the command, and ends the process. */
export async function run(args: readonly string[]): Promise<void> {
  surviveLostOutput();
  const exitCode = await runProgram(args);
  // The output of `tock exec` is that of its command.
  await endOutput(isWorker(args) && args[0] !== 'exec' ? READER_TIMEOUT_MS : null);
  // A handler executed here may have left a timer or socket open, which must not keep the command alive.
  process.exit(exitCode);
}
