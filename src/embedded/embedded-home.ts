// Where the embedded server's files live: in `.tock`, or, if the server's user cannot reach it, in a private
// folder in /var/tmp.
import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { removeTree, setModeAndOwner, writeAnew } from './embedded-files.js';
import { type Account, ignoring, run } from './embedded-process.js';

const dataNote = 'data-is-elsewhere.txt';
const programsNote = 'programs-are-elsewhere.txt';
const socketNote = 'socket-is-elsewhere.txt';

/** `abandoned`: the folder still has data of a `.tock` folder that was deleted. */
export interface Home {
  readonly home: string;
  readonly abandoned: boolean;
}

/** The folder for the cluster `data`, existing or new. Requires the lock. */
export async function chooseHome(folder: string, account: Account | undefined): Promise<Home> {
  if (await isDirectory(path.join(folder, 'data'))) return { home: folder, abandoned: false };
  const noted = await isFile(path.join(folder, dataNote));
  if (!noted && (account === undefined || (await canEnter(folder, account)))) {
    return { home: folder, abandoned: false };
  }
  const home = await folderElsewhere(folder);
  if (noted) return { home, abandoned: false };
  const who = account?.name ?? 'nobody';
  await writeAnew(
    path.join(folder, dataNote),
    `PostgreSQL runs as "${who}", which cannot reach this folder; the data are in ${home}\n`,
  );
  return { home, abandoned: await isDirectory(path.join(home, 'data')) };
}

/** The folder for a copy of the programs, if the package's own cannot be used. */
export async function ensureProgramsCopy(folder: string): Promise<string> {
  const elsewhere = await folderElsewhere(folder);
  await writeAnew(
    path.join(folder, programsNote),
    `PostgreSQL could not be run from node_modules; a copy of its programs is in ${elsewhere}\n`,
  );
  return elsewhere;
}

/** Where {@link chooseSocketFolder} may have put the socket: that depends on who started the server. */
export function socketFoldersElsewhere(folder: string, account: Account | undefined): string[] {
  const starters = new Set([process.getuid?.(), 0, account?.uid]);
  return [...starters]
    .filter(uid => uid !== undefined)
    .map(uid => path.join(nameElsewhere(uid, folder), 'socket'));
}

/** A private folder for the socket if `.tock` has a path too long for one, or cannot contain one. */
export async function chooseSocketFolder(folder: string, account: Account | undefined): Promise<string> {
  const socketFolder = path.join(await folderElsewhere(folder), 'socket');
  const owner = account?.uid ?? process.getuid?.();
  const isOurs = await lstat(socketFolder).then(
    found => found.isDirectory() && found.uid === owner && (found.mode & 0o077) === 0,
    () => false,
  );
  if (!isOurs) {
    await removeTree(socketFolder);
    await mkdir(socketFolder, { mode: 0o700 });
    if (account !== undefined) await setModeAndOwner(socketFolder, 0o700, account);
  }
  await writeAnew(
    path.join(folder, socketNote),
    `The data directory cannot contain the socket; it is in ${socketFolder}\n`,
  );
  return socketFolder;
}

/** Whether `account` can run the programs. Tried, because modes do not show ACLs and mounts. */
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
 * A folder in /var/tmp for this project folder and this user only. Any user may create names there, so an
 * existing one must be a real folder that no other user could have filled.
 */
async function folderElsewhere(folder: string): Promise<string> {
  const uid = process.getuid?.();
  if (uid === undefined) throw new Error(`the embedded server cannot run in ${folder}`);
  const elsewhere = nameElsewhere(uid, folder);
  await ignoring(['EEXIST'], mkdir(elsewhere, { mode: 0o700 }));
  const found = await lstat(elsewhere);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o022) !== 0) {
    throw new Error(`${elsewhere} already exists, and other users may change it: remove it`);
  }
  if (uid === 0) await setModeAndOwner(elsewhere, 0o711);
  return elsewhere;
}

function nameElsewhere(uid: number, folder: string): string {
  const hash = createHash('sha256').update(`${uid}:${folder}`).digest('hex').slice(0, 16);
  return `/var/tmp/tock-${hash}`;
}

/** Removes the folders that the functions above created. Nothing may use them any more. */
export async function removeElsewhere(folder: string): Promise<void> {
  const uid = process.getuid?.();
  const notes = [dataNote, programsNote, socketNote].map(note => isFile(path.join(folder, note)));
  if (uid !== undefined && (await Promise.all(notes)).includes(true))
    await removeTree(nameElsewhere(uid, folder));
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
