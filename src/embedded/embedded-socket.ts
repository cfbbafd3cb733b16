// The Unix socket of the embedded server, in a private folder; on Windows, 127.0.0.1 instead. Not a port
// elsewhere: after the server's death any program could take the port and would be sent the password.
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { socketFoldersElsewhere } from './embedded-home.js';
import type { Cluster } from './embedded-process.js';

export const hasSockets = process.platform !== 'win32';

/** The port in the socket's name; the server need not have it. */
export const namedPort = 5432;

// The maximum is 107 bytes on Linux and 103 on macOS.
const maxSocketPathBytes = 103;

export function socketFile(folder: string, port: number): string {
  return path.join(folder, `.s.PGSQL.${port}`);
}

/** Whether clients can connect to a socket in this folder. To psql, a comma would mean two hosts. */
export function fitsSocket(folder: string): boolean {
  return Buffer.byteLength(socketFile(folder, 65_535)) <= maxSocketPathBytes && !folder.includes(',');
}

/**
 * The folder of the running server's socket, from its postmaster.pid; undefined if it has none. Accepts only
 * a folder that Tock would have chosen, and that only the server's user may change.
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
