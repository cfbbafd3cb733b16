// Carries out a plan of faults.
// In: the plan; the workers, the server and the proxies that it is done to. Out: how many of each kind were carried out.
import { random } from '../../model/schedule/random.js';
import { leap } from '../history.js';
import { sleep } from './loop.js';
import type { Pace } from './pace.js';
import { countKinds, type Fault, type Plan } from './plan.js';
import type { Stage } from './stage.js';
import { FAREWELL, REPLY_TO } from './statements.js';
import type { Crew } from './workers.js';

export interface Victims extends Pick<Stage, 'server' | 'proxies' | 'query' | 'driver'> {
  readonly crew: Crew;
}

/** A reply to a statement that nobody sends for so long: then the next reply of any kind is lost. */
const REPLY_WITHIN_MS = 2000;

/** Begins to carry out the plan. */
export function startFaults(plan: Plan, victims: Victims, pace: Pace, signal: AbortSignal) {
  const carriedOut = countKinds([]);
  const underWay: Promise<void>[] = [];
  let lastAt = performance.now();
  let going = 0;
  let failure: { readonly error: unknown } | null = null;
  /** One restart after the other, one lost reply of a side after the other. */
  const queues = new Map<string, Promise<void>>();
  const oneByOne = async (name: string, work: () => Promise<void>) => {
    const turn = (queues.get(name) ?? Promise.resolve()).then(work);
    queues.set(
      name,
      turn.catch(() => undefined),
    );
    await turn;
  };
  /** Never rejects: nobody awaits it before the last one has begun. */
  const carryOut = async (fault: Fault): Promise<void> => {
    going++;
    try {
      await oneByOne(queueOf(fault), () => bringAbout(fault, victims, signal));
      if (!signal.aborted) carriedOut[fault.kind]++;
    } catch (error) {
      failure ??= { error };
    } finally {
      going--;
      lastAt = performance.now();
    }
  };
  const live = async () => {
    for (const fault of plan.faults) {
      await pace.fault(fault.atMs, signal);
      if (signal.aborted || failure !== null) break;
      underWay.push(carryOut(fault));
    }
    await Promise.all(underWay);
    if (failure !== null) throw failure.error;
  };
  return {
    /** How many of each kind. */
    carriedOut,
    /** When the last one was under way, by `performance.now()`. */
    lastAt: () => (going > 0 ? performance.now() : lastAt),
    /** Resolves when the last one is over. */
    done: live(),
  };
}

const queueOf = (fault: Fault) => {
  if (fault.kind === 'restart') return 'restart';
  return fault.kind === 'lost reply' ? fault.side : `${fault.kind} at ${fault.atMs}`;
};

async function bringAbout(fault: Fault, victims: Victims, signal: AbortSignal): Promise<void> {
  const { crew, server, proxies, query, driver } = victims;
  /** Somebody has a connection open again, and the server is there again, sooner or later. */
  const untilDone = async (work: () => Promise<unknown>) => {
    while (!signal.aborted && !(await work().catch(() => false))) await sleep(20, signal);
  };
  switch (fault.kind) {
    case 'kill':
      crew.kill(await crew.find(fault.target, signal));
      return;
    case 'stop': {
      const member = await crew.find(fault.target, signal);
      crew.freeze(member);
      await sleep(fault.forMs, signal);
      crew.thaw(member);
      return;
    }
    case 'restart':
      await server.kill();
      await sleep(fault.downMs, signal);
      await server.start();
      return;
    case 'lost reply': {
      const proxy = proxies[fault.side];
      const isLost = proxy.loseNextReply(REPLY_TO[fault.reply]).then(() => true);
      if (await Promise.race([isLost, sleep(REPLY_WITHIN_MS, signal)])) return;
      await Promise.race([proxy.loseNextReply(null), aborted(signal)]);
      return;
    }
    case 'cut': {
      const lots = random(fault.salt);
      return await untilDone(async () => proxies[fault.side].cut(() => lots.chance(fault.share)) > 0);
    }
    case 'drain':
      crew.drain(await crew.find(fault.target, signal));
      return;
    case 'farewell':
      return await untilDone(async () => (await query(FAREWELL, [fault.share])).length > 0);
    case 'suicide':
      crew.mayKillThemselves();
      return await untilDone(() => driver.enqueue('suicide'));
    case 'leap':
      return await untilDone(() => leap(query, fault.seconds).then(() => true));
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>(resolve => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
