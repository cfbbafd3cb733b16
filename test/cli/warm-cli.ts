// Commands that read, or write a few rows, in one warm process: a process for each takes ten times the processor's time.
// In: arguments and the environment. Out: exit code and what was printed, as from a process of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Result } from './cli-harness.js';

const MARK = '\u0001end of the command\u0001';
/** They execute no handler, listen for no signal, and end by themselves. */
const WARM = new Set(
  'cancel complete doctor fail jobs metrics migrate next pause plan prove queue reset-cursor resume retry run runs schedule schema show simulate status uninstall why'.split(
    ' ',
  ),
);
const COLD_FLAGS = ['--follow', '--wait'];

export interface WarmCli {
  readonly takes: (args: readonly string[]) => boolean;
  /** One command after the other, each with the environment of `createWarmCli` and what is added to it. */
  readonly call: (args: readonly string[], added?: Readonly<Record<string, string>>) => Promise<Result>;
  readonly close: () => Promise<void>;
}

export function createWarmCli(cli: string, env: NodeJS.ProcessEnv): WarmCli {
  let host: ChildProcess | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const open = () =>
    spawn(process.execPath, [path.join(import.meta.dirname, 'warm-host.mjs'), cli, MARK], {
      env,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
  const callNow = async (args: readonly string[], added = {}): Promise<Result> => {
    host ??= open();
    const child = host;
    const ended = new AbortController();
    child.once('exit', (code, signal) =>
      ended.abort(new Error(`the warm command line ended with ${signal ?? code} in tock ${args.join(' ')}`)),
    );
    const texts = [printedBy(child.stdout, ended.signal), printedBy(child.stderr, ended.signal)] as const;
    const code = once(child, 'message', { signal: ended.signal });
    child.send({ args, env: { ...env, ...added } });
    const [stdout, stderr, [sent]] = await Promise.all([...texts, code]);
    child.removeAllListeners('exit');
    return { code: sent as number, stdout, stderr };
  };
  return {
    takes: args => WARM.has(args[0] ?? '') && !args.some(each => COLD_FLAGS.includes(each)),
    call: async (args, added) => {
      const result = last.then(() => callNow(args, added));
      last = result.catch(() => undefined);
      return await result;
    },
    close: async () => {
      if (host === undefined || host.exitCode !== null || host.signalCode !== null) return;
      const gone = once(host, 'exit');
      host.kill('SIGKILL');
      await gone;
    },
  };
}

/** The text of a pipe up to the mark. */
function printedBy(stream: NodeJS.ReadableStream | null, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const take = (chunk: string) => {
      text += chunk;
      if (!text.endsWith(MARK)) return;
      stream?.off('data', take);
      resolve(text.slice(0, -MARK.length));
    };
    stream?.setEncoding('utf8').on('data', take);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
