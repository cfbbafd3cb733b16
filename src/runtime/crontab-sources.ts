// The crontabs that an import reads: the user's own, a file, standard input, or those of the system.

import { existsSync, readlinkSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { hostZone } from '../environment/host-zone.js';
import { osHome, osUser } from '../environment/os-user.js';
import type { CronKind } from '../model/crontab/cron-field.js';
import { TockError } from '../model/errors.js';
import { readOwnCrontab, SYSTEM_FILE, SYSTEM_FOLDER } from './crontab.js';

/** A crontab as it is. */
export interface CrontabSource {
  /** Such as `crontab of app`, or a path. */
  readonly source: string;
  /** Null: the user's own, or standard input. */
  readonly file: string | null;
  readonly isOwn: boolean;
  readonly hasUser: boolean;
  readonly bytes: Buffer;
}

export interface SourceOptions {
  /** A file, a folder of files, `-`; undefined: the user's own, or with `system` those of the host. */
  readonly file: string | undefined;
  readonly system: boolean;
  readonly kind: CronKind;
}

/** @throws TockError TOCK_NOT_FOUND, and TOCK_BAD_OPTION for what is not text */
export async function readSources({ file, system, kind }: SourceOptions): Promise<CrontabSource[]> {
  if (file === '-') {
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
    return [
      checked({
        source: 'standard input',
        file: null,
        isOwn: false,
        hasUser: system,
        bytes: Buffer.concat(chunks),
      }),
    ];
  }
  if (file !== undefined) return await readFileOrFolder(path.resolve(file), system, kind);
  if (system) {
    const folder = existsSync(SYSTEM_FOLDER) ? await readFileOrFolder(SYSTEM_FOLDER, true, kind) : [];
    return [...(existsSync(SYSTEM_FILE) ? [await readOne(SYSTEM_FILE, true)] : []), ...folder];
  }
  const bytes = await readOwnCrontab();
  if (bytes === null)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `${osUser()} has no crontab: name a file, - for standard input, or --system for /etc/crontab and /etc/cron.d`,
    );
  return [checked({ source: `crontab of ${osUser()}`, file: null, isOwn: true, hasUser: false, bytes })];
}

async function readFileOrFolder(file: string, system: boolean, kind: CronKind): Promise<CrontabSource[]> {
  const place = await stat(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  if (!place.isDirectory()) {
    const hasUser = system || file === SYSTEM_FILE || path.dirname(file) === SYSTEM_FOLDER;
    return [await readOne(file, hasUser)];
  }
  const names = (await readdir(file)).filter(name => isRead(name, kind)).sort();
  const found = await Promise.all(names.map(async name => await readIfFile(path.join(file, name))));
  return found.filter(source => source !== null);
}

/** Null: a folder, or a link to nothing, which cron passes over. */
async function readIfFile(file: string): Promise<CrontabSource | null> {
  const found = await stat(file).catch(() => null);
  return found?.isFile() ? await readOne(file, true) : null;
}

async function readOne(file: string, hasUser: boolean): Promise<CrontabSource> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  return checked({ source: file, file, isOwn: false, hasUser, bytes });
}

/** Whether cron reads a file of /etc/cron.d with this name. */
function isRead(name: string, kind: CronKind): boolean {
  return kind === 'debian' ? /^[\w-]+$/.test(name) : !/^\.|^#|~$|\.rpm(?:save|orig|new)$/.test(name);
}

function checked(source: CrontabSource): CrontabSource {
  if (!source.bytes.includes(0)) return source;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${source.source} is not a crontab: it holds NUL bytes, so it is no text`,
  );
}

function unreadable(file: string, error: unknown): TockError {
  const { code, message } = error as NodeJS.ErrnoException;
  const why =
    code === 'ENOENT'
      ? `there is no file ${file}`
      : code === 'EACCES'
        ? `this user may not read ${file}; try sudo`
        : `${file} cannot be read: ${message}`;
  return new TockError('TOCK_NOT_FOUND', why, { cause: error });
}

/** The text of a crontab: UTF-8, or else ISO 8859-1. */
export function textOf({ bytes }: CrontabSource): { readonly text: string; readonly isUtf8: boolean } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), isUtf8: true };
  } catch {
    return { text: bytes.toString('latin1'), isUtf8: false };
  }
}

/** Cronie's daemon is `crond`. */
export function cronKindOfHost(): CronKind {
  return existsSync('/usr/sbin/crond') && !existsSync('/usr/sbin/cron') ? 'cronie' : 'debian';
}

/** The zone by whose clock cron runs: that of the host, not TZ of this process. */
export function zoneOfHost(): string {
  let zone: string | undefined;
  try {
    zone = /zoneinfo\/(?:posix\/|right\/)?(.+)$/.exec(readlinkSync('/etc/localtime'))?.[1];
  } catch {
    // A copy instead of a link, or no such file.
  }
  zone ??= hostZone();
  return /^(?:etc\/)?(?:utc|uct|zulu|universal)$/i.test(zone) ? 'UTC' : zone;
}

/** The users of this host with their homes. */
export async function readHomes(): Promise<ReadonlyMap<string, string>> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const homes = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [name = '', , , , , home = ''] = line.split(':');
    if (name !== '' && home !== '') homes.set(name, home);
  }
  const own = osHome();
  return own === null ? homes : homes.set(osUser(), own);
}
