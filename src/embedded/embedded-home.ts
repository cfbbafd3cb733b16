// Room: embedded. Where the embedded server's files live.
// In: the `.tock` folder and the user that the server runs as. Out: the folder for the data, and for a copy of
// the programs. That is `.tock` itself, or, when that user cannot reach it, a folder of ours in /var/tmp.
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Account, ignoring, run } from './embedded-process.js';

const dataNote = 'data-is-elsewhere.txt';
const programsNote = 'programs-are-elsewhere.txt';

/** Where the data are or shall be. `abandoned`: data of a `.tock` folder that was deleted since are in the way. */
export interface Home {
  readonly home: string;
  readonly abandoned: boolean;
}

/** The folder that holds, or shall hold, the cluster `data`. To be called under the lock. */
export async function settleHome(folder: string, account: Account | undefined): Promise<Home> {
  if (await isDirectory(path.join(folder, 'data'))) return { home: folder, abandoned: false };
  const noted = await isFile(path.join(folder, dataNote));
  if (!noted && (account === undefined || (await canEnter(folder, account)))) {
    return { home: folder, abandoned: false };
  }
  const home = await folderElsewhere(folder);
  if (noted) return { home, abandoned: false };
  const who = account?.name ?? 'nobody';
  await writeFile(
    path.join(folder, dataNote),
    `PostgreSQL runs as "${who}", who cannot reach this folder; the data are in ${home}\n`,
  );
  return { home, abandoned: await isDirectory(path.join(home, 'data')) };
}

/** The folder for a copy of the programs, when those of the package cannot be used where they are. */
export async function settleProgramsCopy(folder: string): Promise<string> {
  const elsewhere = await folderElsewhere(folder);
  await writeFile(
    path.join(folder, programsNote),
    `PostgreSQL could not be run from node_modules; a copy of its programs is in ${elsewhere}\n`,
  );
  return elsewhere;
}

/** Whether `account` can really run the programs: tried, because modes alone do not tell (ACLs, mounts). */
export async function canUsePrograms(native: string, account: Account | undefined): Promise<boolean> {
  if (account === undefined) return true;
  const script =
    'test -r "$1/share/postgresql/postgres.bki" && "$1/bin/initdb" --version && "$1/bin/postgres" --version';
  return (await run('/bin/sh', ['-c', script, 'sh', native], account)).code === 0;
}

async function canEnter(folder: string, account: Account): Promise<boolean> {
  return (await run('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], account)).code === 0;
}

/**
 * A folder in /var/tmp that belongs to this project folder and this user alone. Anybody may create names in
 * /var/tmp, so one that is there already must be a real folder that nobody else could have filled.
 */
async function folderElsewhere(folder: string): Promise<string> {
  const uid = process.getuid?.();
  if (uid === undefined) throw new Error(`the embedded server cannot run in ${folder}`);
  const elsewhere = nameElsewhere(uid, folder);
  await ignoring(['EEXIST'], mkdir(elsewhere, { mode: 0o700 }));
  const found = await lstat(elsewhere);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o022) !== 0) {
    throw new Error(
      `${elsewhere} is there already and is not a folder that this user alone may change: remove it`,
    );
  }
  // The server's user must be able to walk through, not to look around.
  if (uid === 0) await chmod(elsewhere, 0o711);
  return elsewhere;
}

function nameElsewhere(uid: number, folder: string): string {
  const hash = createHash('sha256').update(`${uid}:${folder}`).digest('hex').slice(0, 16);
  return `/var/tmp/tock-${hash}`;
}

/** Removes what {@link settleHome} and {@link settleProgramsCopy} have put elsewhere. Nothing may use it any more. */
export async function removeElsewhere(folder: string): Promise<void> {
  const uid = process.getuid?.();
  const isNoted =
    (await isFile(path.join(folder, dataNote))) || (await isFile(path.join(folder, programsNote)));
  if (uid !== undefined && isNoted) await rm(nameElsewhere(uid, folder), { recursive: true, force: true });
}

async function isDirectory(name: string): Promise<boolean> {
  return lstat(name).then(
    found => found.isDirectory(),
    () => false,
  );
}

async function isFile(name: string): Promise<boolean> {
  return lstat(name).then(
    found => found.isFile(),
    () => false,
  );
}
