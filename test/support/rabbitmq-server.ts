// Room: test support. Debian's RabbitMQ on the loopback, as this user: one node, or a cluster.
// In: how many nodes. Out: their URLs, kill -9 and restart of each. Nothing of it stays on the machine.
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type BrokerServers,
  freePorts,
  type KillableNode,
  type KillableProcess,
  startKillable,
  untilListening,
} from './killable-process.js';
import { lacks } from './needs.js';

const BIN = '/usr/lib/rabbitmq/bin';

export const hasNoRabbitmq = () => lacks('rabbitmq-server');

export async function startRabbitmq(count = 1): Promise<BrokerServers> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-rabbitmq-'));
  await writeFile(path.join(folder, '.erlang.cookie'), 'tocktests');
  await chmod(path.join(folder, '.erlang.cookie'), 0o400);
  const [epmdPort = 0, ...ports] = await freePorts(1 + 2 * count);
  const names = Array.from({ length: count }, (_, index) => `tock${index + 1}@localhost`);
  const common = { HOME: folder, ERL_EPMD_PORT: String(epmdPort), ERL_EPMD_ADDRESS: '127.0.0.1' };
  // A node would start one that stays after it.
  const epmd = startKillable('epmd', ['-port', String(epmdPort), '-address', '127.0.0.1'], common);
  await untilListening(epmdPort, epmd, 'epmd');
  const nodes: KillableNode[] = [];
  for (const [index, name] of names.entries()) {
    const node = await makeNode({
      folder: path.join(folder, `node${index + 1}`),
      name,
      names,
      common,
      port: ports[2 * index] ?? 0,
      distPort: ports[2 * index + 1] ?? 0,
    });
    nodes.push(node);
    // The first makes the cluster, and the others join it.
    await node.start();
  }
  return {
    urls: nodes.map(node => node.url),
    nodes,
    async remove() {
      await Promise.all(nodes.map(node => node.kill()));
      await epmd.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface NodeParts {
  readonly folder: string;
  readonly name: string;
  readonly names: readonly string[];
  readonly common: Readonly<Record<string, string>>;
  readonly port: number;
  readonly distPort: number;
}

async function makeNode({ folder, name, names, common, port, distPort }: NodeParts): Promise<KillableNode> {
  await mkdir(folder);
  const config = path.join(folder, 'rabbitmq.conf');
  await writeFile(
    config,
    [
      'listeners.tcp.default = 127.0.0.1:' + port,
      // As nats-server has it.
      'max_message_size = 1048576',
      'disk_free_limit.absolute = 50MB',
      'raft.wal_max_size_bytes = 16777216',
      'cluster_formation.peer_discovery_backend = classic_config',
      ...names.map((each, index) => `cluster_formation.classic_config.nodes.${index + 1} = ${each}`),
      '',
    ].join('\n'),
  );
  await writeFile(path.join(folder, 'enabled_plugins'), '[].');
  const env = {
    ...common,
    RABBITMQ_NODENAME: name,
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_DIST_PORT: String(distPort),
    RABBITMQ_CONF_ENV_FILE: path.join(folder, 'none'),
    RABBITMQ_CONFIG_FILE: config,
    RABBITMQ_ADVANCED_CONFIG_FILE: path.join(folder, 'advanced'),
    RABBITMQ_ENABLED_PLUGINS_FILE: path.join(folder, 'enabled_plugins'),
    RABBITMQ_GENERATED_CONFIG_DIR: path.join(folder, 'config'),
    RABBITMQ_MNESIA_BASE: path.join(folder, 'mnesia'),
    RABBITMQ_LOG_BASE: path.join(folder, 'log'),
    RABBITMQ_PID_FILE: path.join(folder, 'pid'),
    // One process that is the server, and no shell around it.
    RUNNING_UNDER_SYSTEMD: '1',
    // Schedulers that wait for work by sleeping: the machine has others.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none',
  };
  let server: KillableProcess | null = null;
  return {
    url: `amqp://guest:guest@127.0.0.1:${port}`,
    isRunning: () => server?.isRunning() === true,
    output: () => server?.output() ?? '',
    async kill() {
      await server?.kill();
    },
    async stop() {
      await server?.kill('SIGTERM');
    },
    async start() {
      server = startKillable(`${BIN}/rabbitmq-server`, [], env);
      await untilListening(port, server, name);
    },
  };
}
