// How a dashboard is reached and by whom, from environment variables. Secrets never come from argv, which
// every user of the machine can read.
import { followSecretFile, readSecretFile } from '../../environment/secret-file.js';
import type { CurrentUrl } from '../../model/database/current-url.js';
import { TockError } from '../../model/errors.js';
import { readServedBasePath } from '../access/base-path.js';
import { checkMetricsToken } from '../access/metrics-token.js';
import { readHosts } from './hosts.js';
import { readUsers, type User } from './users.js';

export interface DashboardSettings {
  readonly users: readonly User[];
  readonly proxySecret: string | null;
  /** Without a slash at its end; empty at the root. */
  readonly basePath: string;
  readonly hosts: readonly string[];
  /** Of the pages, where a proxy changes the name of the host. */
  readonly origins: readonly string[];
  /** A replica for all reads. Null: the database itself. */
  readonly readUrl: CurrentUrl | null;
  /** Opens /metrics. Null: only who may see the pages may read them. */
  readonly metricsToken: string | null;
}

const MIN_SECRET = 16;

/** @throws TockError TOCK_BAD_OPTION that names the variable */
export function readDashboardSettings(env: NodeJS.ProcessEnv): DashboardSettings {
  const users = readSecret(env, 'TOCK_DASHBOARD_USERS');
  const secret = readSecret(env, 'TOCK_DASHBOARD_PROXY_SECRET');
  if (secret !== null && secret.text.length < MIN_SECRET)
    throw new TockError('TOCK_BAD_OPTION', `${secret.source} has fewer than ${MIN_SECRET} characters`);
  const read = users === null ? [] : readUsers(users.text, users.source);
  if (read.length > 0 && secret === null && read.every(({ password }) => password === null)) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${users?.source} has no passwords, and without TOCK_DASHBOARD_PROXY_SECRET nobody could sign in`,
    );
  }
  const token = readSecret(env, 'TOCK_DASHBOARD_METRICS_TOKEN');
  return {
    users: read,
    proxySecret: secret?.text ?? null,
    basePath: readServedBasePath(env['TOCK_DASHBOARD_BASE_PATH']?.trim() ?? '', 'TOCK_DASHBOARD_BASE_PATH'),
    ...readHosts(env['TOCK_DASHBOARD_HOSTS'] ?? '', 'TOCK_DASHBOARD_HOSTS'),
    readUrl: readUrl(env, 'TOCK_DASHBOARD_READ_URL') ?? readUrl(env, 'TOCK_READ_URL'),
    metricsToken: token && checkMetricsToken(token.text, token.source),
  };
}

function readSecret(env: NodeJS.ProcessEnv, name: string): { text: string; source: string } | null {
  const { text, file } = stated(env, name);
  if (text) return { text, source: name };
  return file ? { text: readSecretFile(`${name}_FILE`, file), source: `${name}_FILE` } : null;
}

function readUrl(env: NodeJS.ProcessEnv, name: string): CurrentUrl | null {
  const { text, file } = stated(env, name);
  return text || (file ? followSecretFile(`${name}_FILE`, file) : null);
}

const stated = (env: NodeJS.ProcessEnv, name: string) => ({
  text: env[name]?.trim(),
  file: env[`${name}_FILE`]?.trim(),
});
