// Settings of a session under which Tock does not work, and which no statement of its own can work around.
// A connection pooler keeps Tock from setting them itself.
import { formatDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { psql } from '../problem-words.js';
import type { Finding } from '../problems.js';
import { joined, wrong } from './check.js';

interface Setting {
  readonly level: 'warning' | 'failing';
  readonly isWrong: (value: string) => boolean;
  /** What comes of it. */
  readonly harm: string;
  readonly right: string;
  /** It is set for the whole server. Default: for a role. */
  readonly isServers?: true;
}

/** What a reaping or the materializing of many may take on a busy server. */
const SHORT_MS = 5000;
const isShort = (value: string) => Number(value) > 0 && Number(value) < SHORT_MS;

const SETTINGS: Readonly<Record<string, Setting>> = {
  array_nulls: {
    level: 'failing',
    isWrong: value => value === 'off',
    harm: 'a null that is sent in an array is stored as text',
    right: 'on',
  },
  standard_conforming_strings: {
    level: 'failing',
    isWrong: value => value === 'off',
    harm: 'backslashes in statements and functions mean something else',
    right: 'on',
  },
  extra_float_digits: {
    level: 'failing',
    isWrong: value => Number(value) < -2,
    harm: 'instants are read without their last digits',
    right: '1',
  },
  default_transaction_read_only: {
    level: 'failing',
    isWrong: value => value === 'on',
    harm: 'nothing can be written',
    right: 'off',
  },
  session_replication_role: {
    level: 'failing',
    isWrong: value => value !== 'origin',
    harm: 'triggers do not fire, so runs that replace others are lost',
    right: 'origin',
  },
  fsync: {
    level: 'warning',
    isWrong: value => value === 'off',
    harm: 'a crash of the machine can destroy the database',
    right: 'on',
    isServers: true,
  },
  full_page_writes: {
    level: 'warning',
    isWrong: value => value === 'off',
    harm: 'a crash of the machine can leave half-written pages',
    right: 'on',
    isServers: true,
  },
  synchronous_commit: {
    level: 'warning',
    isWrong: value => value === 'off',
    harm: 'a crash of the server loses what was committed just before: runs that were enqueued, and effects',
    right: 'on',
  },
  enable_indexscan: {
    level: 'warning',
    isWrong: value => value === 'off',
    harm: 'claims read whole tables',
    right: 'on',
  },
  enable_nestloop: {
    level: 'warning',
    isWrong: value => value === 'off',
    harm: 'claims compare all runs with all queues',
    right: 'on',
  },
  idle_in_transaction_session_timeout: {
    level: 'warning',
    isWrong: isShort,
    harm: 'the transactions of handlers are ended while they work',
    right: '0',
  },
  statement_timeout: {
    level: 'warning',
    isWrong: isShort,
    harm: 'a statement over many rows is cancelled, and again at each try',
    right: "'1min'",
  },
  // Since PostgreSQL 17.
  transaction_timeout: {
    level: 'warning',
    isWrong: isShort,
    harm: 'a transaction over many rows is cancelled, and so are those of handlers',
    right: '0',
  },
};

/** With all of them off, the server is one for tests, and nobody means to keep what it has. */
const DURABLE = ['fsync', 'full_page_writes', 'synchronous_commit'];

export const SETTING_NAMES: readonly string[] = Object.keys(SETTINGS);
/** With a wrong one, what is read or written is wrong. */
export const NEEDED_NAMES = SETTING_NAMES.filter(name => SETTINGS[name]?.level === 'failing');

export interface SessionSettings {
  readonly role: string;
  /** By name, as `pg_settings` has them: durations in milliseconds. */
  readonly settings: Readonly<Record<string, string>>;
}

export function checkSettings({ role, settings }: SessionSettings): Finding {
  const grantee = `"${role.replaceAll('"', '""')}"`;
  const isForTests = DURABLE.every(name => settings[name] === 'off');
  const found = Object.entries(settings).flatMap(([name, value]) => {
    const setting = SETTINGS[name];
    if (!setting?.isWrong(value) || (isForTests && DURABLE.includes(name))) return [];
    const shown = name.endsWith('_timeout') ? formatDuration(Number(value)) : value;
    return wrong(
      setting.level,
      `${name} is ${shown}: ${setting.harm}`,
      setting.isServers
        ? 'Set it for the server'
        : 'Set it for this role, whatever set it before, and let processes connect again',
      setting.isServers
        ? `${psql(`alter system set ${name} = ${setting.right}`)} -c "select pg_reload_conf()"`
        : psql(`alter role ${grantee} set ${name} = ${setting.right}`),
    );
  });
  const otherwise = 'none of this session is in the way';
  return joined(
    found,
    isForTests
      ? `${otherwise}; the server is one for tests: a crash of it loses what was committed`
      : otherwise,
  );
}

/** Before anything is written under such a session. Null: nothing is in the way. */
export function sessionError(session: SessionSettings): TockError | null {
  const { level, text, remedy, command } = checkSettings(session);
  if (level !== 'failing') return null;
  return new TockError('TOCK_BAD_SESSION', `${text}. ${remedy}: ${command}`);
}
