// Three PostgreSQL 15 under Debian's Patroni, with etcd: on the loopback, in a folder of their own, and as the user
// `postgres` where this process is root.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chmod, chown, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type Account, run, serverAccount, spawnOptions } from '../../src/embedded/embedded-process.js';
import { DEBIAN_BIN } from '../chaos/debian-server.js';
import { freePort } from '../support/free-port.js';

const PROGRAMS = {
  'postgresql-15': path.join(DEBIAN_BIN, 'pg_rewind'),
  patroni: '/usr/bin/patroni',
  'etcd-server': '/usr/bin/etcd',
  'python3-etcd': '/usr/lib/python3/dist-packages/etcd',
};

/** Debian's packages that are not installed. */
export const missingPackages = (): string[] =>
  Object.entries(PROGRAMS).flatMap(([name, file]) => (existsSync(file) ? [] : [name]));

const NAMES = ['pg1', 'pg2', 'pg3'] as const;
export type NodeName = (typeof NAMES)[number];
const PASSWORD = 'secret';
/** How soon another server becomes the primary. Patroni's own defaults are 30, 10 and 10. */
const TIMES = { ttl: 20, loop_wait: 2, retry_timeout: 5 } as const;

/** All three servers work again, and another is the primary, within this time, also on a busy machine. */
export const WELL_WITHIN_MS = 300_000;

interface Node {
  readonly name: NodeName;
  readonly port: number;
  readonly api: number;
  readonly data: string;
  readonly config: string;
  patroni: ChildProcess | null;
}

export interface Member {
  readonly name: NodeName;
  /** `leader`, `sync_standby` or `replica`. */
  readonly role: string;
  readonly state: string;
}

export interface Cluster {
  /** Names all three servers. */
  readonly url: string;
  /** The URL of one server. */
  readonly urlOf: (name: NodeName) => string;
  /** What Patroni says of its servers; empty: it does not answer. */
  readonly members: () => Promise<readonly Member[]>;
  /** Resolves to the primary's name when all three servers work. */
  readonly healthy: (what: string) => Promise<NodeName>;
  /** Resolves to the primary's name when there is one, and the standby that it waits for. */
  readonly writable: (what: string) => Promise<NodeName>;
  readonly switchOver: (from: NodeName, to: NodeName) => Promise<void>;
  /** SIGKILL to all processes of a server, as if its machine had died. */
  readonly kill: (name: NodeName) => Promise<void>;
  readonly start: (name: NodeName) => void;
  /** SIGSTOP to all processes of a server, as if its machine were frozen, or cut off; then SIGCONT. */
  readonly freeze: (name: NodeName) => Promise<() => void>;
  readonly killEtcd: () => void;
  readonly startEtcd: () => void;
  /** `pg_ctl promote`, behind Patroni's back. */
  readonly promote: (name: NodeName) => Promise<void>;
  readonly remove: () => Promise<void>;
}

export interface ClusterOptions {
  readonly folder: string;
  /** Whether each commit waits for a standby: Patroni's `synchronous_mode`. */
  readonly isSynchronous: boolean;
}

export async function openCluster({ folder, isSynchronous }: ClusterOptions): Promise<Cluster> {
  const account = await serverAccount();
  await give(folder, account);
  await chmod(folder, 0o711);
  const etcdPorts = [await freePort(), await freePort()] as const;
  const nodes: Node[] = [];
  for (const name of NAMES) {
    const [port, api] = [await freePort(), await freePort()];
    const [data, config] = [path.join(folder, name), path.join(folder, `${name}.yml`)];
    nodes.push({ name, port, api, data, config, patroni: null });
  }
  const nodeOf = (name: NodeName) => {
    const node = nodes.find(each => each.name === name);
    if (!node) throw new Error(`there is no ${name}`);
    return node;
  };
  for (const node of nodes) {
    // JSON is YAML.
    await writeFile(node.config, JSON.stringify(settingsOf(node, folder, etcdPorts[0], isSynchronous)));
    await give(node.config, account);
  }

  const background = (log: string, command: string, args: readonly string[]): ChildProcess => {
    const child = spawn(command, args, { ...spawnOptions(account), stdio: ['ignore', 'pipe', 'pipe'] });
    const keep = (chunk: Buffer) => void appendFile(path.join(folder, log), chunk).catch(() => undefined);
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', () => undefined);
    return child;
  };
  let etcd: ChildProcess | null = null;
  const startEtcd = () => {
    const [client, peer] = etcdPorts.map(port => `http://127.0.0.1:${port}`);
    etcd = background('etcd.log', PROGRAMS['etcd-server'], [
      `--data-dir=${path.join(folder, 'etcd')}`,
      '--name=one',
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=one=${peer}`,
    ]);
  };
  const start = (name: NodeName) => {
    const node = nodeOf(name);
    node.patroni = background(`${name}.log`, PROGRAMS.patroni, [node.config]);
  };

  const ask = async ({ api }: Node, route: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${api}${route}`, {
      signal: AbortSignal.timeout(body === undefined ? 2000 : 60_000),
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`Patroni answered ${answer.status}: ${text.trim()}`);
    return body === undefined ? JSON.parse(text) : text;
  };
  const members = async (): Promise<readonly Member[]> => {
    for (const node of nodes) {
      const found = (await ask(node, '/cluster').catch(() => null)) as { members: Member[] } | null;
      if (found !== null) return found.members;
    }
    return [];
  };
  const urlOf = (name: NodeName) => `postgres://postgres:${PASSWORD}@127.0.0.1:${nodeOf(name).port}/postgres`;
  const waitFor = async (
    what: string,
    isWell: (members: readonly Member[]) => boolean,
  ): Promise<NodeName> => {
    const until = performance.now() + WELL_WITHIN_MS;
    for (;;) {
      const found = await members();
      const leader = found.find(({ role, state }) => role === 'leader' && state === 'running');
      const isConfirmed = !isSynchronous || found.some(({ role }) => role === 'sync_standby');
      if (leader && isConfirmed && isWell(found) && (await takesWrites(urlOf(leader.name))))
        return leader.name;
      if (performance.now() > until) {
        const logs = await Promise.all(NAMES.map(name => lastLines(folder, `${name}.log`)));
        throw new Error(`the servers are not well ${what}: ${JSON.stringify(found)}\n${logs.join('\n')}`);
      }
      await pause(100);
    }
  };
  const isWorking = ({ state }: Member) => state === 'running' || state === 'streaming';
  const healthy = (what: string) =>
    waitFor(what, found => found.length === NAMES.length && found.every(isWorking));
  const writable = (what: string) => waitFor(what, () => true);
  /** The processes of a server: Patroni, and PostgreSQL's. */
  const processesOf = async ({ data, patroni }: Node): Promise<number[]> => {
    const file = await readFile(path.join(data, 'postmaster.pid'), 'utf8').catch(() => '');
    const postmaster = Number(file.split('\n')[0]);
    const isGone = patroni === null || patroni.exitCode !== null || patroni.signalCode !== null;
    const own = isGone || patroni.pid === undefined ? [] : [patroni.pid];
    return [...own, ...(postmaster > 0 ? [postmaster, ...(await childrenOf(postmaster))] : [])];
  };
  const signal = async (node: Node, name: NodeJS.Signals): Promise<number[]> => {
    const pids = await processesOf(node);
    for (const pid of pids) sendSignal(pid, name);
    return pids;
  };

  startEtcd();
  // The first one makes the cluster, the others copy it.
  start('pg1');
  const cluster: Cluster = {
    url: `postgres://postgres:${PASSWORD}@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}/postgres?target_session_attrs=read-write`,
    urlOf,
    members,
    healthy,
    writable,
    async switchOver(from, to) {
      await ask(nodeOf(from), '/switchover', { leader: from, candidate: to });
    },
    async kill(name) {
      const node = nodeOf(name);
      await signal(node, 'SIGKILL');
      node.patroni = null;
    },
    start,
    async freeze(name) {
      await signal(nodeOf(name), 'SIGSTOP');
      // Again, for those that the postmaster has started in between.
      const pids = await signal(nodeOf(name), 'SIGSTOP');
      return () => {
        for (const pid of pids) sendSignal(pid, 'SIGCONT');
      };
    },
    killEtcd: () => void etcd?.kill('SIGKILL'),
    startEtcd,
    async promote(name) {
      const { code, output } = await run(
        path.join(DEBIAN_BIN, 'pg_ctl'),
        ['-D', nodeOf(name).data, '-w', 'promote'],
        account,
      );
      if (code !== 0) throw new Error(`pg_ctl promote failed: ${output}`);
    },
    async remove() {
      for (const node of nodes) {
        await signal(node, 'SIGKILL');
        await signal(node, 'SIGCONT');
      }
      etcd?.kill('SIGKILL');
      await pause(200);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  try {
    const until = performance.now() + WELL_WITHIN_MS;
    while (!(await members()).some(({ role, state }) => role === 'leader' && state === 'running')) {
      if (performance.now() > until)
        throw new Error(`there is no primary: ${await lastLines(folder, 'pg1.log')}`);
      await pause(100);
    }
    for (const name of ['pg2', 'pg3'] as const) start(name);
    await healthy('at the start');
    return cluster;
  } catch (error) {
    await cluster.remove();
    throw error;
  }
}

function settingsOf(node: Node, folder: string, etcdPort: number, isSynchronous: boolean) {
  const { name, port, api, data } = node;
  const address = `127.0.0.1:${port}`;
  return {
    scope: 'tock',
    name,
    restapi: { listen: `127.0.0.1:${api}`, connect_address: `127.0.0.1:${api}` },
    etcd3: { hosts: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ...TIMES,
        synchronous_mode: isSynchronous,
        postgresql: {
          use_pg_rewind: true,
          parameters: {
            max_connections: 200,
            wal_log_hints: 'on',
            wal_keep_size: '512MB',
            synchronous_commit: 'on',
            // A process that is killed leaves its writes to the kernel; the disk itself is not what is tested.
            fsync: 'off',
          },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums', 'no-sync'],
      pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256'],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: data,
      bin_dir: DEBIAN_BIN,
      pgpass: path.join(folder, `${name}.pgpass`),
      authentication: {
        superuser: { username: 'postgres', password: PASSWORD },
        replication: { username: 'replicator', password: PASSWORD },
        rewind: { username: 'rewinder', password: PASSWORD },
      },
      parameters: { unix_socket_directories: folder },
    },
  };
}

/** Patroni shows what it last knew where it cannot ask etcd. */
async function takesWrites(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ yes: boolean }>('select not pg_is_in_recovery() as yes');
    return rows[0]?.yes === true;
  } catch {
    return false;
  } finally {
    void client.end().catch(() => undefined);
  }
}

async function give(file: string, account: Account | undefined): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  if (account !== undefined) await chown(file, account.uid, account.gid);
}

async function childrenOf(parent: number): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    if (new RegExp(`^PPid:\\s*${parent}$`, 'm').test(status)) found.push(Number(pid));
  }
  return found;
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone.
  }
}

async function lastLines(folder: string, log: string): Promise<string> {
  const text = await readFile(path.join(folder, log), 'utf8').catch(() => 'nothing was logged');
  return text.trim().split('\n').slice(-5).join(' | ');
}
