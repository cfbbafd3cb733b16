// Room: test support. Debian's nats-server with JetStream on the loopback: one server, or a cluster.
// In: how many servers. Out: their URLs, kill -9 and restart of each. Nothing of it stays on the machine.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
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
import { until } from './until.js';

const BIN = '/usr/sbin/nats-server';

export const hasNoNats = () => lacks('nats-server');

export async function startNats(count = 1): Promise<BrokerServers> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-nats-'));
  const ports = await freePorts(3 * count);
  const routes = Array.from({ length: count }, (_, index) => `nats://127.0.0.1:${ports[3 * index + 1] ?? 0}`);
  const nodes = await Promise.all(
    routes.map(
      async (_, index) =>
        await makeNode(path.join(folder, `node${index + 1}`), `tock${index + 1}`, routes, [
          ports[3 * index] ?? 0,
          ports[3 * index + 1] ?? 0,
          ports[3 * index + 2] ?? 0,
        ]),
    ),
  );
  await Promise.all(nodes.map(node => node.start()));
  return {
    urls: nodes.map(node => node.url),
    nodes,
    async remove() {
      await Promise.all(nodes.map(node => node.kill()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function makeNode(
  folder: string,
  name: string,
  routes: readonly string[],
  [port, routePort, httpPort]: readonly [number, number, number],
): Promise<KillableNode> {
  await mkdir(folder);
  const config = path.join(folder, 'nats.conf');
  const cluster =
    routes.length === 1
      ? ''
      : `cluster { name: tock, listen: "127.0.0.1:${routePort}", routes: [${routes.map(each => `"${each}"`).join(', ')}] }`;
  await writeFile(
    config,
    `listen: "127.0.0.1:${port}"
http: "127.0.0.1:${httpPort}"
server_name: ${name}
jetstream { store_dir: "${folder}", max_memory_store: 64MB, max_file_store: 2GB }
${cluster}
`,
  );
  let server: KillableProcess | null = null;
  return {
    url: `nats://127.0.0.1:${port}`,
    isRunning: () => server?.isRunning() === true,
    output: () => server?.output() ?? '',
    async kill() {
      await server?.kill();
    },
    async stop() {
      await server?.kill('SIGTERM');
    },
    async start() {
      server = startKillable(BIN, ['-c', config], {});
      await untilListening(port, server, name);
      // Until the cluster has a leader, it makes no streams.
      await until(async () => await isHealthy(httpPort), `${name} to be healthy`);
    },
  };
}

async function isHealthy(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/healthz`).then(
    response => response.ok,
    () => false,
  );
}
