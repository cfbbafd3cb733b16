// Shell: isolated. The end of a child process and of all that its handler started.
// In: nothing. Out: SIGKILL to the group that the child leads.

export function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.kill(process.pid, 'SIGKILL');
  }
}
