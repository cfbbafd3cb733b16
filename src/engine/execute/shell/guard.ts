// A guard kills the process group of a command when this process dies, as by SIGKILL, which it cannot handle.
//
//   this process                        guard: sh, in a group of its own     command, the leader of its group
//   starts the guard
//   starts the command
//   writes the id of its group          reads it, and waits for more
//   (killed)                            its pipe closes: kills the group     (killed)
//
// When the command has ended, it is dismissed by another line. It is a shell, since a second Node would take
// more memory than most commands.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

const SCRIPT = `trap '' HUP INT TERM; read -r group || exit 0; read -r dismissed && exit 0; kill -9 "-$group"`;

export interface Guard {
  readonly watch: (group: number) => unknown;
  readonly dismiss: () => unknown;
}

/** Where no shell can be started, there is no guard. */
export function startGuard(): Guard {
  const guard = spawnGuard();
  // Without free file descriptors there is no pipe either.
  const pipe = guard?.stdin as Socket | null | undefined;
  guard?.on('error', () => undefined);
  pipe?.on('error', () => undefined);
  guard?.unref();
  pipe?.unref();
  return {
    watch: group => pipe?.write(`${group}\n`),
    dismiss: () => pipe?.end('\n'),
  };
}

function spawnGuard(): ChildProcess | null {
  try {
    // Signals to this process's group do not reach it, and no folder is kept in use.
    return spawn('/bin/sh', ['-c', SCRIPT], {
      detached: true,
      cwd: '/',
      env: {},
      stdio: ['pipe', 'ignore', 'ignore'],
    });
  } catch {
    return null;
  }
}
