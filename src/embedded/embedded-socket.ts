// Room: embedded. The Unix socket by which the embedded server is reached, in a folder that nobody else may change.
// In: the cluster. Out: the folder for it, and its file's name. Windows has none: there the server listens on 127.0.0.1.
// Anybody could take a port once the server has died, and would be sent the password.
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Cluster } from './embedded-cluster.js';
import { socketFoldersElsewhere } from './embedded-home.js';

export const hasSockets = process.platform !== 'win32';

/** The port in the name of a socket, where the server has no port. */
export const namedPort = 5432;

// 107 bytes on Linux, 103 on macOS: nobody could connect to a longer one.
const longestSocketPath = 103;

/** The file of the socket. */
export function socketFile(folder: string, port: number): string {
  return path.join(folder, `.s.PGSQL.${port}`);
}

/** Whether a socket in this folder can be connected to, whatever the port in its name. A comma makes it two hosts to psql. */
export function fitsSocket(folder: string): boolean {
  return Buffer.byteLength(socketFile(folder, 65_535)) <= longestSocketPath && !folder.includes(',');
}

/**
 * The folder of the running server's socket, from its postmaster.pid; undefined when it has none. Only a folder is
 * believed in which we would have put it, and that nobody but the server's user may change.
 */
export async function findSocketFolder(cluster: Cluster, stated: string): Promise<string | undefined> {
  if (stated === '') return undefined;
  const folder = path.resolve(cluster.dataDirectory, stated);
  const ours = [cluster.dataDirectory, ...socketFoldersElsewhere(cluster.folder, cluster.account)];
  if (!ours.includes(folder)) return undefined;
  const owner = cluster.account?.uid ?? process.getuid?.();
  const found = await stat(folder).catch(() => undefined);
  return found !== undefined && found.uid === owner && (found.mode & 0o022) === 0 ? folder : undefined;
}
