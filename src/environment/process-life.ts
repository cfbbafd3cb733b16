// Whether another process has ended, where that is certain: on Linux, with the same host name, boot, and
// namespaces of pids and of time. Elsewhere a pid says nothing: containers share names and pids.
import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Identifies a process that this one sees beyond its pid: where pids mean the same, and when it began there,
 * such as `2ae3… pid:[4026531836] time:[4026531834] 7314`. Null where the system does not say.
 */
export function lifeOf(pid: number): string | null {
  const place = ownPlace();
  const start = startOf(pid);
  return place === null || start === null ? null : `${place} ${start}`;
}

/**
 * Whether the process with this pid and {@link lifeOf} has certainly ended. Only for processes whose host
 * has the name of this one: clones of one virtual machine have the same boot id.
 */
export function hasEnded(pid: number, life: string): boolean {
  const end = life.lastIndexOf(' ');
  if (pid <= 0 || life.slice(0, end) !== ownPlace()) return false;
  if (!exists(pid)) return true;
  // The pid may be another process's by now.
  const start = startOf(pid);
  return start !== null && start !== life.slice(end + 1);
}

/** Asks the kernel: /proc may hide the processes of other users. */
function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Null if /proc is another pid namespace's, or is not there. */
function ownPlace(): string | null {
  try {
    if (readlinkSync('/proc/self') !== String(process.pid)) return null;
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')} ${readlinkSync('/proc/self/ns/time')}`;
  } catch {
    return null;
  }
}

/** When a process began, in clock ticks since the boot; null if it cannot be read. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in parentheses, may hold anything; what follows it is fields 3 and on.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
