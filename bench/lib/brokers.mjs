// Debian's RabbitMQ, NATS and Redis, as programs of the benchmark's own: temporary folders, free ports, loopback only.
// In: which. Out: a URL, what it is, and its end; or why it cannot be started here.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts, inFolder } from './programs.mjs';

const REPLICATED_WITHIN_MS = 30_000;
const PLACES = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
/** Debian's own wrapper in /usr/sbin changes the user. */
const RABBIT = '/usr/lib/rabbitmq/bin/rabbitmq-server';

/** A server that is not installed; the message names the package. */
export class MissingServer extends Error {}

function find(program, candidates = PLACES.map(place => path.join(place, program))) {
  const found = candidates.find(file => existsSync(file));
  if (found === undefined)
    throw new MissingServer(`there is no ${program} here (apt-get install ${program}; Debian has it)`);
  return found;
}

/** One node, with its store on the disk. A quorum queue of one node confirms what is on it. */
export async function startRabbit() {
  const server = find('rabbitmq-server', [RABBIT]);
  const epmd = find('epmd');
  return await inFolder(async (folder, run) => {
    const [port, distribution, names] = await freePorts(3);
    // Of its own, in the foreground: otherwise Erlang starts one for the whole machine, and leaves it.
    const mapper = await run('epmd', epmd, ['-port', String(names), '-address', '127.0.0.1']);
    await mapper.listens(names);
    await mkdir(path.join(folder, 'config'));
    await writeFile(path.join(folder, 'enabled_plugins'), '[].\n');
    await writeFile(path.join(folder, 'rabbitmq.conf'), 'loopback_users.guest = true\n');
    const env = {
      RABBITMQ_NODENAME: `tock-bench-${port}@localhost`,
      RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(distribution),
      RABBITMQ_MNESIA_BASE: path.join(folder, 'mnesia'),
      RABBITMQ_LOG_BASE: path.join(folder, 'log'),
      RABBITMQ_CONFIG_FILE: path.join(folder, 'rabbitmq.conf'),
      RABBITMQ_GENERATED_CONFIG_DIR: path.join(folder, 'config'),
      RABBITMQ_ENABLED_PLUGINS_FILE: path.join(folder, 'enabled_plugins'),
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
      ERL_EPMD_PORT: String(names),
      ERL_EPMD_ADDRESS: '127.0.0.1',
    };
    const program = await run('rabbitmq', server, [], { env });
    await program.listens(port);
    return { url: `amqp://guest:guest@127.0.0.1:${port}`, about: `RabbitMQ ${await rabbitVersion()}` };
  });
}

async function rabbitVersion() {
  const names = await readdir('/usr/lib/rabbitmq/lib').catch(() => []);
  return names.map(name => /^rabbitmq_server-(.+)$/.exec(name)?.[1]).find(Boolean) ?? 'of an unknown version';
}

/** Three nodes with JetStream; one if they do not come together. The URL lists them, separated by commas. */
export async function startNats() {
  const server = find('nats-server');
  const version = /v?(\d+\.\S+)/.exec(execFileSync(server, ['--version'], { encoding: 'utf8' }))?.[1];
  const begin = async nodes =>
    await inFolder(async (folder, run) => {
      const all = await freePorts(2 * nodes);
      const [ports, routes] = [all.slice(0, nodes), all.slice(nodes)];
      const peers = routes.map(port => `nats://127.0.0.1:${port}`);
      for (const [index, port] of ports.entries()) {
        const cluster =
          nodes === 1
            ? []
            : ['--cluster_name', 'bench', '--cluster', peers[index], '--routes', peers.join(',')];
        const store = ['-js', '-sd', path.join(folder, `node-${index}`)];
        const name = `node-${index}`;
        await run(name, server, ['-a', '127.0.0.1', '-p', String(port), '-n', name, ...store, ...cluster]);
      }
      const url = ports.map(port => `nats://127.0.0.1:${port}`).join(',');
      await untilReplicated(url, nodes);
      const about = `NATS ${version}, ${nodes === 1 ? 'one node' : `${nodes} nodes`}`;
      return { url, about };
    });
  try {
    return await begin(3);
  } catch (error) {
    const single = await begin(1);
    return { ...single, about: `${single.about}, since three did not start (${error.message})` };
  }
}

/** Until a stream with as many replicas as there are nodes can be made. */
async function untilReplicated(url, nodes) {
  const { connect } = await import('@nats-io/transport-node');
  const { jetstreamManager } = await import('@nats-io/jetstream');
  const until = performance.now() + REPLICATED_WITHIN_MS;
  for (;;) {
    try {
      const connection = await connect({ servers: url.split(','), timeout: 2000, reconnect: false });
      try {
        const streams = (await jetstreamManager(connection)).streams;
        await streams.add({ name: 'probe', subjects: ['probe'], num_replicas: nodes });
        return await streams.delete('probe');
      } finally {
        await connection.close();
      }
    } catch (error) {
      if (performance.now() > until)
        throw new Error(`JetStream is not ready: ${error.message}`, { cause: error });
      await sleep(100);
    }
  }
}

/** With an append-only file. @param fsync `everysec`, its default, or `always` */
export async function startRedis(fsync) {
  const server = find('redis-server');
  const version = /v=(\S+)/.exec(execFileSync(server, ['--version'], { encoding: 'utf8' }))?.[1];
  return await inFolder(async (folder, run) => {
    const [port] = await freePorts(1);
    const settings = {
      bind: '127.0.0.1',
      port,
      dir: folder,
      appendonly: 'yes',
      appendfsync: fsync,
      save: '',
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const program = await run('redis', server, args);
    await program.listens(port);
    return { url: `redis://127.0.0.1:${port}`, about: `Redis ${version}` };
  });
}
