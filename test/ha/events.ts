// What happens to the servers: each event is brought about when all three work, and over when one takes writes.
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, type NodeName, WELL_WITHIN_MS } from './cluster.js';

export const EVENTS = {
  switchover: 'a planned switchover',
  kill: 'kill -9 of the primary; later it comes back',
  freeze: 'SIGSTOP of the primary until another has taken over, then SIGCONT',
  etcd: 'etcd away for longer than the leader’s term: no server takes writes',
  promote: 'a standby promoted by hand beside the primary',
} as const;
export type EventName = keyof typeof EVENTS;
export const EVENT_NAMES = Object.keys(EVENTS) as EventName[];

/** In the middle of the load, for so long, before the first event and after each. */
const CALM_MS = 6000;
const ETCD_AWAY_MS = 30_000;

/** Returns a line about what has happened. */
export async function bringAbout(event: EventName, cluster: Cluster): Promise<string> {
  await cluster.healthy(`before ${event}`);
  await pause(CALM_MS);
  // Again: on a busy machine Patroni may have moved the primary meanwhile.
  const before = await cluster.healthy(`before ${event}`);
  await HOW[event](cluster, before);
  const after = await cluster.writable(`after ${event}`);
  await pause(CALM_MS);
  return before === after ? `${before} is the primary again` : `${before} was the primary, ${after} is now`;
}

const HOW: Readonly<Record<EventName, (cluster: Cluster, primary: NodeName) => Promise<void>>> = {
  async switchover(cluster, primary) {
    await cluster.switchOver(primary, await standbyOf(cluster));
  },
  async kill(cluster, primary) {
    await cluster.kill(primary);
    await otherPrimary(cluster, primary);
    await pause(CALM_MS);
    cluster.start(primary);
  },
  async freeze(cluster, primary) {
    const thaw = await cluster.freeze(primary);
    try {
      await otherPrimary(cluster, primary);
      await pause(CALM_MS);
    } finally {
      thaw();
    }
  },
  async etcd(cluster) {
    cluster.killEtcd();
    await pause(ETCD_AWAY_MS);
    cluster.startEtcd();
  },
  async promote(cluster) {
    await cluster.promote(await standbyOf(cluster));
  },
};

/** The one that confirms commits, where there is one. */
async function standbyOf(cluster: Cluster): Promise<NodeName> {
  const members = await cluster.members();
  const standby =
    members.find(({ role }) => role === 'sync_standby') ?? members.find(({ role }) => role === 'replica');
  if (!standby) throw new Error(`there is no standby: ${JSON.stringify(members)}`);
  return standby.name;
}

async function otherPrimary(cluster: Cluster, former: NodeName): Promise<void> {
  const until = performance.now() + WELL_WITHIN_MS;
  while (performance.now() < until) {
    const members = await cluster.members();
    if (members.some(({ name, role, state }) => role === 'leader' && name !== former && state === 'running'))
      return;
    await pause(100);
  }
  throw new Error(`no other server than ${former} became the primary within ${WELL_WITHIN_MS / 1000} s`);
}
