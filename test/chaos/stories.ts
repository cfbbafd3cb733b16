// Scripted faults: an experiment carries out one of them in place of random ones, so that a mutant shows.
import { setTimeout as sleep } from 'node:timers/promises';
import { HANDED_OFF } from '../../src/model/run/states.js';
import type { Hands } from './history-experiment.js';

const RUNNING = (job: string, fence: number) =>
  `select from tock.job_runs where job = '${job}' and status = 'running' and fence = ${fence}`;

/** A worker freezes past its lease, another takes its run, the first wakes up. */
async function wakesUp({ start, enqueue, jump, see }: Hands): Promise<void> {
  const first = start();
  await enqueue('slow');
  await see(RUNNING('slow', 1));
  first.child.kill('SIGSTOP');
  await jump(3);
  start();
  await see(`select from tock.job_runs where job = 'slow' and status = 'failed'`);
  await jump(20);
  await see(RUNNING('slow', 2));
  first.child.kill('SIGCONT');
  await see(`select from tock.job_runs where job = 'slow' and finished_at is not null`);
}

/** Two workers; effects, some of which fail at first; minutes that pass unseen. */
async function ordinary({ start, enqueue, jump, see }: Hands): Promise<void> {
  start();
  start();
  await enqueue('slow');
  for (let count = 0; count < 12; count++) await enqueue(count % 2 === 0 ? 'once' : 'transaction');
  await see(`select from tock.job_runs where job = 'slow' and fence >= 1`);
  await jump(100);
  await see(`select from tock.job_runs where job = 'sevenths' and status = 'succeeded'`);
}

/** A run kills its processes until it is dead. */
async function kills({ start, enqueue, see }: Hands): Promise<void> {
  start();
  await enqueue('suicide');
  await see(RUNNING('suicide', 1));
}

const OVER = (fence: number) =>
  `select from tock.job_runs where locked_by = '${HANDED_OFF}' and status = 'running' and fence = ${fence}`;

/** A worker hands a run off, and is killed. */
async function handsOffAndDies({ start, enqueue, see }: Hands): Promise<void> {
  const first = start();
  await enqueue('handed');
  await see(OVER(1));
  first.child.kill('SIGKILL');
}

/** A run is completed while nobody can write that, and its lease ends before anybody can. */
async function completes(hands: Hands): Promise<void> {
  const { start, jump, see, complete } = hands;
  await handsOffAndDies(hands);
  await complete(1);
  await jump(30);
  start();
  await see(`select from tock.job_runs where job = 'handed' and (finished_at is not null or fence > 1)`);
}

/** A run is completed when its lease has ended, and nobody has taken it back yet. */
async function completesLate(hands: Hands): Promise<void> {
  await handsOffAndDies(hands);
  await hands.jump(30);
  await hands.complete(1);
}

/** The lease of a handoff ends, the run is handed off again, and the first answer comes. */
async function answersLate({ start, enqueue, jump, see, complete }: Hands): Promise<void> {
  start();
  await enqueue('handed');
  await see(OVER(1));
  await jump(30);
  await see(`select from tock.job_runs where job = 'handed' and status = 'failed'`);
  await jump(5);
  await see(OVER(2));
  await complete(1);
}

const BEGUN = (fence: number) => `select from public.begun where fence = ${fence}`;

/** A worker freezes past its lease, another takes its run, the first wakes up and hands it off. */
async function handsOffLate({ start, enqueue, jump, see, letGo }: Hands): Promise<void> {
  const first = start();
  await enqueue('handed-late');
  await see(BEGUN(1));
  first.child.kill('SIGSTOP');
  await jump(3);
  start();
  await see(`select from tock.job_runs where job = 'handed-late' and status = 'failed'`);
  await jump(20);
  await see(BEGUN(2));
  first.child.kill('SIGCONT');
  await letGo(1);
  // A healthy worker writes nothing then, so there is nothing to wait for.
  await Promise.race([see(OVER(2)), sleep(3000)]);
  await letGo(99);
  await see(OVER(2));
}

export const STORIES = {
  wakesUp,
  ordinary,
  kills,
  completes,
  completesLate,
  answersLate,
  handsOffLate,
} as const;
