// Kills a child process and all that its handler started, by SIGKILL to the group that the child leads.

export function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.kill(process.pid, 'SIGKILL');
  }
}
