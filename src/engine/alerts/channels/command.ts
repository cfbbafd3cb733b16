// Starts a program with the message: as JSON on its standard input, in short in its environment. No shell.
import { spawn } from 'node:child_process';
import type { AlertMessage } from '../../../model/alerts/message.js';
import { commandVariables } from '../../../model/alerts/payloads.js';
import type { Channel } from '../../../model/alerts/read-alerts.js';

type CommandChannel = Extract<Channel, { readonly kind: 'command' }>;

const MAX_OUTPUT = 300;
/** From SIGTERM to SIGKILL. */
const GRACE_MS = 1000;
/** Nothing else of this process's environment, which holds the database's password. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'TZ'];

/** Resolves to what the program printed. @throws where it cannot be started, fails, or takes too long */
export async function runCommand(
  { command, env }: CommandChannel,
  message: AlertMessage,
  signal: AbortSignal,
): Promise<string> {
  const [program = '', ...args] = command;
  const passed = [...PASSED_ON, ...env].flatMap(name => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  signal.throwIfAborted();
  const child = spawn(program, args, {
    shell: false,
    // A group of its own, so that what it starts ends with it.
    detached: true,
    env: { ...Object.fromEntries(passed), ...commandVariables(message) },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  const keep = (chunk: Buffer) => {
    if (output.length < MAX_OUTPUT) output += chunk.toString('utf8');
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  // It may end without having read its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(`${JSON.stringify({ ...message })}\n`);
  const kill = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // It has ended.
    }
  };
  let killer: NodeJS.Timeout | undefined;
  const stop = () => {
    kill('SIGTERM');
    killer = setTimeout(() => kill('SIGKILL'), GRACE_MS);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const { code, by } = await new Promise<{ code: number | null; by: NodeJS.Signals | null }>(
      (resolve, reject) => {
        child.once('error', reject);
        // Not 'close': what it has started may keep its output open. What it has written itself is read.
        child.once('exit', (ended, endedBy) => setImmediate(resolve, { code: ended, by: endedBy }));
      },
    );
    const said = output.slice(0, MAX_OUTPUT).replaceAll(/\s+/g, ' ').trim();
    const end = by === null ? `exit code ${code}` : `ended by ${by}`;
    if (code === 0) return said === '' ? end : `${end}: ${said}`;
    throw new Error(`${program}: ${end}${said === '' ? '' : `: ${said}`}`);
  } finally {
    for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
    clearTimeout(killer);
    signal.removeEventListener('abort', stop);
  }
}
