// A guard kills the process group of a command when this process dies, as by SIGKILL, which it cannot handle.
//
//   this process                        guard: sh, in a group of its own     command, the leader of its group
//   starts the guard
//   starts the command
//   writes the id of its group          reads it, and waits for more
//   (killed)                            its pipe closes: kills the group     (killed)
//
// When the command has ended, it is dismissed by another line. If this process is killed before it has
// written the group, the guard looks for what has its mark in the environment, where /proc shows it. It is a
// shell, since a second Node would take more memory than most commands.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';

const MARK = 'TOCK_GUARD';
// It looks again for two seconds: what is just being started still has the environment of this process.
const SCRIPT = `trap '' HUP INT TERM
if read -r group; then
  read -r dismissed && exit 0
  kill -9 "-$group"
  exit
fi
for look in 1 2 3 4 5 6 7 8 9 10; do
  marked=$(grep -lzx "${MARK}=$1" /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\\n')
  [ -z "$marked" ] || kill -9 $marked 2>/dev/null
  sleep 0.2
done`;

export interface Guard {
  /** What the command must have in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly watch: (group: number) => unknown;
  readonly dismiss: () => unknown;
  /** Closes the pipe, as the end of this process does: for tests. */
  readonly abandon: () => unknown;
}

/** Where no shell can be started, there is no guard. */
export function startGuard(): Guard {
  const mark = randomUUID();
  const guard = spawnGuard(mark);
  // Without free file descriptors there is no pipe either.
  const pipe = guard?.stdin as Socket | null | undefined;
  guard?.on('error', () => undefined);
  pipe?.on('error', () => undefined);
  guard?.unref();
  pipe?.unref();
  return {
    environment: { [MARK]: mark },
    watch: group => pipe?.write(`${group}\n`),
    dismiss: () => pipe?.end('\n'),
    abandon: () => pipe?.end(),
  };
}

function spawnGuard(mark: string): ChildProcess | null {
  try {
    // Signals to this process's group do not reach it, and no folder is kept in use.
    return spawn('/bin/sh', ['-c', SCRIPT, 'sh', mark], {
      detached: true,
      cwd: '/',
      env: {},
      stdio: ['pipe', 'ignore', 'ignore'],
    });
  } catch {
    return null;
  }
}
