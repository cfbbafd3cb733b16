// What becomes of a command when the process that has started it is killed.
// In the check: it starts and kills processes.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { startGuard } from '../../../../src/engine/execute/shell/guard.js';
import { until } from '../../../support/until.js';

const commands: ChildProcess[] = [];
afterEach(() => {
  for (const command of commands.splice(0)) if (command.exitCode === null) command.kill('SIGKILL');
});

/** Two processes in a group of their own, as a command is started. */
async function startCommand(environment: Readonly<Record<string, string>>) {
  const command = spawn('/bin/sh', ['-c', 'sleep 300 & echo $!; exec sleep 300'], {
    detached: true,
    env: { PATH: '/usr/bin:/bin', ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  commands.push(command);
  const second = await new Promise<string>(resolve =>
    command.stdout?.once('data', chunk => resolve(String(chunk).trim())),
  );
  const ended = new Promise<NodeJS.Signals | null>(resolve =>
    command.once('exit', (_code, signal) => resolve(signal)),
  );
  return { command, second, ended };
}

const isGone = async (pid: string) =>
  await until(async () => !existsSync(`/proc/${pid}/environ`), `process ${pid} to be gone`);

describe.skipIf(!existsSync('/proc/self/environ'))('a guard whose pipe closes', () => {
  it('kills the group that it was given', async () => {
    const guard = startGuard();
    const { command, second, ended } = await startCommand(guard.environment);
    guard.watch(command.pid ?? 0);
    guard.abandon();
    expect(await ended).toBe('SIGKILL');
    await isGone(second);
  });

  it('kills what has its mark, if it was given no group yet', { tags: 'check' }, async () => {
    const guard = startGuard();
    const other = await startCommand(startGuard().environment);
    const { second, ended } = await startCommand(guard.environment);
    guard.abandon();
    expect(await ended).toBe('SIGKILL');
    await isGone(second);
    expect(other.command.exitCode).toBeNull();
    expect(existsSync(`/proc/${other.second}/environ`)).toBe(true);
    process.kill(-(other.command.pid ?? 0), 'SIGKILL');
  });
});
