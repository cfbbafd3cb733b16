// Scripted faults: an experiment carries out one of them in place of random ones, so that a mutant shows.
import { setTimeout as sleep } from 'node:timers/promises';
import { HANDED_OFF } from '../../src/model/run/states.js';
import type { Hands } from './story.js';

const RUNNING = (job: string, fence: number) =>
  `select from tock.job_runs where job = '${job}' and status = 'running' and fence = ${fence}`;

/** An attempt of a run has failed, or was taken back. Seen by its errors: `failed` lasts for half a second only. */
const FAILED = (job: string) =>
  `select from tock.job_runs where job = '${job}' and jsonb_array_length(errors) > 0`;

/** A worker freezes past its lease, another takes its run, the first wakes up. */
async function wakesUp({ start, enqueue, jump, see }: Hands): Promise<void> {
  const first = start();
  await enqueue('slow');
  await see(RUNNING('slow', 1));
  first.child.kill('SIGSTOP');
  await jump(3);
  start();
  await see(FAILED('slow'));
  await jump(20);
  await see(`select from tock.job_runs where job = 'slow' and fence >= 2`);
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
  await see(FAILED('handed'));
  await jump(5);
  await see(OVER(2));
  await complete(1);
}

const BEGUN = (fence: number) => `select from public.begun where fence = ${fence}`;

/** A worker holds a run, and another begins. */
async function holds({ start, enqueue, see, letGo }: Hands): Promise<void> {
  start();
  await enqueue('handed-late');
  await see(BEGUN(1));
  start();
  await see('select from (select count(*) as workers from tock.workers) w where w.workers >= 2');
  // A healthy worker takes nothing back, so there is nothing to wait for.
  await Promise.race([see(FAILED('handed-late')), sleep(5000)]);
  await letGo(99);
}

/** A worker freezes past its lease, another takes its run, the first wakes up and hands it off. */
async function handsOffLate({ start, enqueue, jump, see, letGo }: Hands): Promise<void> {
  const first = start();
  await enqueue('handed-late');
  await see(BEGUN(1));
  first.child.kill('SIGSTOP');
  await jump(3);
  start();
  await see(FAILED('handed-late'));
  await jump(20);
  await see(BEGUN(2));
  first.child.kill('SIGCONT');
  await letGo(1);
  // A healthy worker writes nothing then, so there is nothing to wait for.
  await Promise.race([see(OVER(2)), sleep(3000)]);
  await letGo(99);
  await see(OVER(2));
}

const OUTBOX_IS_EMPTY = 'select from (select count(*) as left from tock.job_outbox) o where o.left = 0';
const WAITS = 'select from tock.job_waits';
const IS_SUSPENDED = (job: string) =>
  `select from tock.job_runs where job = '${job}' and fence >= 1 and (status = 'queued' or finished_at is not null)`;

/** An event is committed, and was looked after, when the wait for it begins. */
async function hearsTooLate({ start, enqueue, see, emitLate, letGo }: Hands): Promise<void> {
  start();
  await enqueue('hears-late');
  await see(BEGUN(1));
  await emitLate();
  await see(OUTBOX_IS_EMPTY);
  await letGo(199);
  await see(IS_SUSPENDED('hears-late'));
}

/** An event comes when the wait for it is on record, and the handler has not ended yet. */
async function hearsWhileItEnds({ start, enqueue, see, emitLate, letGo }: Hands): Promise<void> {
  start();
  start();
  await enqueue('hears-late');
  await see(BEGUN(1));
  await letGo(1);
  await see(BEGUN(101));
  await see(WAITS);
  await emitLate();
  await see(`${WAITS} where outcome = 'event'`);
  await letGo(199);
  await see(IS_SUSPENDED('hears-late'));
}

const BLOCKED = (count: number) => `select from (select count(*) as blocked from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock') s where s.blocked >= ${count}`;

/**
 * An event and the end of the attempt that waits for it meet at the lock of the run; the end comes first. Who listens
 * ends waits for events in one statement, whose snapshot is older than its locks.
 */
async function hearsAtTheEnd({ start, enqueue, see, emitLate, letGo, lock }: Hands): Promise<void> {
  start(true);
  start(true);
  await enqueue('hears-late');
  await see(BEGUN(1));
  await letGo(1);
  await see(BEGUN(101));
  const unlock = await lock('hears-late');
  await letGo(199);
  await see(BLOCKED(1));
  await emitLate();
  await see(BLOCKED(2));
  await unlock();
  await see(`${WAITS} where outcome = 'event'`);
  await see(IS_SUSPENDED('hears-late'));
}

/** All children have ended when the wait for them begins. */
async function joinsTooLate({ start, enqueue, see, jump, letGo }: Hands): Promise<void> {
  start();
  await enqueue('parent-late');
  await see(BEGUN(1));
  await letGo(1);
  await see(BEGUN(101));
  await jump(20);
  await see(
    `select from (select count(*) as ended from tock.job_runs where job = 'kid' and finished_at is not null) k where k.ended = 3`,
  );
  await see(OUTBOX_IS_EMPTY);
  await letGo(199);
  await see(IS_SUSPENDED('parent-late'));
}

/** A worker freezes past its lease, another takes its run, the first wakes up and makes a child. */
async function begetsLate({ start, enqueue, jump, see, letGo }: Hands): Promise<void> {
  const first = start();
  await enqueue('parent-late');
  await see(BEGUN(1));
  first.child.kill('SIGSTOP');
  await jump(3);
  start();
  await see(FAILED('parent-late'));
  await jump(20);
  await see(BEGUN(2));
  first.child.kill('SIGCONT');
  await letGo(1);
  // A healthy worker makes nothing then, so there is nothing to wait for.
  await Promise.race([see(`select from tock.job_runs where job = 'kid'`), sleep(3000)]);
  await letGo(199);
}

/** Families, of which some children die while their parents wait; and runs that sleep. */
async function families({ start, enqueue, jump, see }: Hands): Promise<void> {
  start();
  start();
  for (let count = 0; count < 6; count++) await enqueue(count % 3 === 0 ? 'sleeps' : 'parent');
  await see(`select from tock.job_runs where job = 'kid' and finished_at is not null`);
  await jump(20);
  await see(`${WAITS} where outcome = 'ended'`);
}

/** Groups, of whose members some die, on two daemons, one of which is killed. */
async function groups({ start, enqueue, jump, see }: Hands): Promise<void> {
  const first = start();
  start();
  for (let count = 0; count < 5; count++) await enqueue('joins');
  await see(`select from tock.job_runs where job = 'kid' and finished_at is not null`);
  first.child.kill('SIGKILL');
  await jump(20);
  // With a fault planted, a join may run before its group ends.
  await see(`select from tock.job_waits where kind = 'group' and outcome = 'ended'
    union all select from tock.job_runs where job = 'joins' and finished_at is not null`);
  await jump(20);
}

const IS_REGISTERED = `select from tock.fair_scopes where job = 'closes'`;
const ENDED = (job: string, count: number) =>
  `select from (select count(*) as count from tock.job_runs where job = '${job}' and finished_at is not null) c where count >= ${count}`;

/** Many runs of a key that has a rate, at once, over two daemons. */
async function rated({ start, enqueue, see }: Hands): Promise<void> {
  start(true);
  start();
  await see(IS_REGISTERED);
  for (let count = 0; count < 10; count++) await enqueue('fair');
  await see(ENDED('fair', 6));
}

/** A run closes its key; then others come, and a worker is killed. */
async function closing({ start, enqueue, jump, see }: Hands): Promise<void> {
  const first = start(true);
  start();
  await see(IS_REGISTERED);
  await enqueue('closes');
  await see(ENDED('closes', 1));
  for (let count = 0; count < 2; count++) await enqueue('closes');
  first.child.kill('SIGKILL');
  await jump(1);
  await enqueue('closes');
  await see(ENDED('closes', 2));
}

export const STORIES = {
  rated,
  closing,
  hearsTooLate,
  hearsWhileItEnds,
  hearsAtTheEnd,
  joinsTooLate,
  begetsLate,
  families,
  groups,
  wakesUp,
  holds,
  ordinary,
  kills,
  completes,
  completesLate,
  answersLate,
  handsOffLate,
} as const;
