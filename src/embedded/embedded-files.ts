// Files in folders that another account may change: as root, the server's account in its data. As root
// nothing here follows a link, so no other file is affected. Operations that need paths run as the account
// itself, in a child process.
import { constants } from 'node:fs';
import {
  type FileHandle,
  lchown,
  lstat,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { type Account, ignoring, run } from './embedded-process.js';

// Windows has neither. O_NONBLOCK: opening a FIFO must not wait for its other end.
const unfollowed = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const maxTextBytes = 64 * 1024;

const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * A small file's text, if it belongs to its folder's owner; otherwise undefined. A link to another user's
 * file counts as missing, because this text is shown in errors and sent as a password.
 */
export async function readOwned(file: string): Promise<string | undefined> {
  const handle = await openOwned(file, constants.O_RDONLY);
  if (handle === undefined) return undefined;
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(maxTextBytes), 0, maxTextBytes, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Replaces a file's first line in place, if {@link readOwned} would read it; else returns false. */
export async function replaceFirstLine(file: string, line: string): Promise<boolean> {
  const handle = await openOwned(file, constants.O_RDWR);
  if (handle === undefined) return false;
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(maxTextBytes), 0, maxTextBytes, 0);
    const text = buffer.toString('utf8', 0, bytesRead).replace(/^.*/, line);
    await handle.write(text, 0);
    await handle.truncate(Buffer.byteLength(text));
    return true;
  } finally {
    await handle.close();
  }
}

async function openOwned(file: string, flags: number): Promise<FileHandle | undefined> {
  const handle = await open(file, flags | unfollowed).catch(() => undefined);
  if (handle === undefined) return undefined;
  const [found, folder] = await Promise.all([handle.stat(), stat(path.dirname(file))]);
  if (found.isFile() && found.uid === folder.uid) return handle;
  await handle.close();
  return undefined;
}

/** Opens a private file. @throws if something else has its name */
export async function openForAppending(file: string): Promise<FileHandle> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | unfollowed;
  const handle = await open(file, flags, 0o600).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code === 'ELOOP') return undefined;
    throw cause;
  });
  const [found, folder] = await Promise.all([handle?.stat(), stat(path.dirname(file))]);
  const isOurs = found?.isFile() && found.nlink === 1 && [folder.uid, process.getuid?.()].includes(found.uid);
  if (handle !== undefined && isOurs === true) {
    await handle.chmod(0o600);
    return handle;
  }
  await handle?.close();
  throw new Error(`${file} is a link, or belongs to another user: remove it`);
}

/** Replaces anything with the same name. */
export async function writeAnew(file: string, text: string): Promise<void> {
  await rm(file, { force: true });
  await writeFile(file, text, { flag: 'wx' });
}

export async function setModeAndOwner(directory: string, mode: number, account?: Account): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | unfollowed);
  try {
    const found = await handle.stat();
    if (!found.isDirectory() || found.uid !== process.getuid?.())
      throw new Error(`${directory} was replaced by another user while it was made`);
    await handle.chmod(mode);
    if (account !== undefined) await handle.chown(account.uid, account.gid);
  } finally {
    await handle.close();
  }
}

/** Creates a file of mode 0600 in a folder of `account`. */
export async function writeAs(account: Account | undefined, file: string, text: string): Promise<void> {
  if (account === undefined) return writeFile(file, text, { mode: 0o600, flag: 'wx' });
  await shellAs(account, 'umask 077 && set -C && cat >"$1"', [file], text);
}

export async function renameAs(account: Account | undefined, from: string, to: string): Promise<void> {
  if (account === undefined) return rename(from, to);
  await shellAs(account, 'mv -f -- "$1" "$2"', [from, to]);
}

export async function removeAs(account: Account | undefined, file: string): Promise<void> {
  if ((await lstat(file).catch(() => undefined)) === undefined) return;
  if (account === undefined) return rm(file, { force: true });
  await shellAs(account, 'rm -f -- "$1"', [file]);
}

async function shellAs(account: Account, script: string, args: string[], input = ''): Promise<void> {
  const { code, output } = await run('/bin/sh', ['-c', script, 'sh', ...args], account, input);
  if (code !== 0) throw new Error(`as ${account.name}: ${output.trim()}`);
}

/**
 * Removes a file or folder. As root, another user's files are removed as that user, who could otherwise
 * replace a folder with a link while root walks through it.
 */
export async function removeTree(tree: string): Promise<void> {
  const found = await lstat(tree).catch(() => undefined);
  if (found === undefined) return;
  if (!isRoot()) return rm(tree, { recursive: true, force: true });
  if (!found.isDirectory()) return ignoring(['ENOENT'], unlink(tree));
  if (found.uid !== 0) {
    // The owner cannot remove the folder itself if root owns its parent.
    const owner = { name: `uid ${found.uid}`, uid: found.uid, gid: found.gid };
    await run('/bin/rm', ['-rf', '--', tree], owner);
  } else if (await isRootsAlone(path.dirname(tree))) {
    for (const name of await readdir(tree)) await removeTree(path.join(tree, name));
  } else {
    // The owner could replace the tree with a link. rm itself walks by open folders, not by paths.
    await run('/bin/rm', ['-rf', '--', tree]);
  }
  await ignoring(['ENOENT'], rmdir(tree));
}

/** Whether only root can rename root's files in this folder. */
async function isRootsAlone(folder: string): Promise<boolean> {
  const { uid, mode } = await stat(folder);
  return uid === 0 && ((mode & 0o022) === 0 || (mode & 0o1000) !== 0);
}

/**
 * Gives a tree of root to `account`. The outermost folder comes last: until then only root can enter, so
 * nothing can be replaced with a link.
 */
export async function giveTo(tree: string, account: Account): Promise<void> {
  const found = await lstat(tree);
  if (found.uid !== 0) return;
  if (found.isDirectory())
    for (const name of await readdir(tree)) await giveTo(path.join(tree, name), account);
  await lchown(tree, account.uid, account.gid);
}
