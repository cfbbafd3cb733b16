// Where the throw-away files of tests live.
// In: the machine. Out: a folder in memory if there is one with room, else the usual folder for temporary files.
import { readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY = '/dev/shm';
// A container's /dev/shm may have 64 MB.
const ROOM_BYTES = 4 * 1024 ** 3;

/** Copying a database takes a fifth of the processor's time there. TMPDIR, if it is set, is obeyed. */
export function temporaryFolder() {
  const own = process.env.TMPDIR ?? '';
  if (own !== '') return own;
  return isUsable() ? MEMORY : tmpdir();
}

/** Whether there is room, and programs may be started from there: tests copy the server's. */
function isUsable() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find(line => line.split(' ')[1] === MEMORY);
    const options = mount?.split(' ')[3]?.split(',');
    return bavail * bsize >= ROOM_BYTES && options !== undefined && !options.includes('noexec');
  } catch {
    return false;
  }
}
