// The handler of a shell job: one attempt of its command.
import { stat } from 'node:fs/promises';
import type { JobContext } from '../../../model/job/job.js';
import type { ShellOutput, ShellSpec } from '../../../model/job/shell-options.js';
import { quote } from '../../../model/names.js';
import { commandError, exitCodeOf, failureOf, isSuccess, NOT_FOUND } from '../../../model/shell/ending.js';
import { runVariables } from '../../../model/shell/environment.js';
import { OutputLog } from './output-log.js';
import { RunningCommand } from './run-command.js';

/**
 * Runs the command. Its output goes line by line to the run's log. When the signal aborts, its process group
 * gets SIGTERM, and SIGKILL after the grace.
 * @throws TockError TOCK_COMMAND_FAILED, TOCK_COMMAND_NOT_STARTED, TOCK_BAD_PAYLOAD; the signal's reason
 */
export async function runShellJob(spec: ShellSpec, ctx: JobContext, payload: unknown): Promise<ShellOutput> {
  const { signal, log } = ctx;
  const env = environmentOf(spec, ctx, payload);
  const stdin = { text: readStdin(spec, payload) };
  if (spec.cwd !== null) await requireFolder(spec, spec.cwd);
  signal.throwIfAborted();
  const output = new OutputLog({
    onLine: (name, text) => log.info(name === 'stderr' ? { stream: name } : {}, text),
    onProgress: (fraction, stage) => {
      if (spec.readsProgress) ctx.progress(fraction, stage ?? undefined);
    },
    progressPattern: spec.progressPattern,
  });
  const [program, args] =
    spec.program === null ? ['/bin/sh', ['-c', spec.shell ?? '']] : [spec.program, spec.args];
  const command = new RunningCommand({ program, args, cwd: spec.cwd, env, stdin }, (name, chunk) => {
    output.push(name, chunk);
    return null;
  });
  let isStopped = false;
  const stop = () => {
    // A command that ended just before has its own outcome.
    isStopped = !command.hasExited;
    command.stop(spec.graceMs);
  };
  signal.addEventListener('abort', stop, { once: true });
  const end = await command.ended;
  signal.removeEventListener('abort', stop);
  output.end();
  if (isStopped) throw signal.reason;
  if (isSuccess(end, spec))
    return {
      exitCode: exitCodeOf(end),
      stdoutBytes: output.bytes.stdout,
      stderrBytes: output.bytes.stderr,
    };
  throw failureOf(end, spec, {
    command: spec.program ?? spec.shell ?? '',
    path: spec.program === null ? null : (env['PATH'] ?? ''),
    lastLine: output.lastLine,
  });
}

function environmentOf(spec: ShellSpec, ctx: JobContext, payload: unknown) {
  const json = JSON.stringify(payload) ?? 'null';
  return { ...process.env, ...spec.env, ...runVariables(ctx, json, typeof spec.stdin === 'function') };
}

function readStdin({ stdin }: ShellSpec, payload: unknown): string {
  if (typeof stdin !== 'function') return stdin ?? '';
  const text: unknown = stdin(payload as never);
  if (typeof text === 'string') return text;
  throw commandError('TOCK_BAD_PAYLOAD', `stdin gave ${quote(text)}; it must give a text`, false);
}

async function requireFolder(spec: ShellSpec, cwd: string): Promise<void> {
  const found = await stat(cwd).catch(() => null);
  if (found?.isDirectory()) return;
  const problem = found === null ? 'does not exist, or cannot be read' : 'is not a folder';
  const isFinal = spec.retryCodes?.includes(NOT_FOUND) === false;
  throw commandError('TOCK_COMMAND_NOT_STARTED', `the working directory ${quote(cwd)} ${problem}`, isFinal);
}
