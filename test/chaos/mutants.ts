// Chaos: the faults that are planted in Tock, and the invariant that must find each out.
// In: nothing. Out: what is changed of the source or of the schema, and the story of faults under which it shows.
// test/planted-faults.test.ts sees that what they change is still there.
import type { Alteration } from './history-experiment.js';
import { type Change, NO_FENCE } from './mutant-build.js';
import type { STORIES } from './stories.js';

export interface Mutant {
  readonly name: string;
  readonly story: keyof typeof STORIES;
  readonly changes?: readonly Change[];
  /** Of functions of the schema. */
  readonly alterations?: readonly Alteration[];
  /** The invariants, one of which must be named. */
  readonly found: RegExp;
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a claim does not write when the rate of a key lets the next run start',
    story: 'rated',
    changes: [
      {
        file: 'store/runs/fair/claim-fair.ts',
        from: 'rate_next_at = coalesce(d.next_at, k.rate_next_at)',
        to: 'rate_next_at = k.rate_next_at',
      },
    ],
    found: /^I23/,
  },
  {
    name: 'a claim takes no slot of the limit of a key',
    story: 'rated',
    changes: [
      {
        file: 'store/runs/fair/claim-fair.ts',
        from: 'where not c.needs_admission and c.id = any',
        to: 'where false and c.id = any',
      },
      // Otherwise it would look again only once a slot is given back.
      {
        file: 'store/runs/fair/claim-fair.ts',
        from: 'c.slot_limit is not null and c.slot_limit <= c.taken',
        to: 'false and c.slot_limit <= c.taken',
      },
    ],
    found: /^I12/,
  },
  {
    name: 'runs that come make a closed key ready',
    story: 'closing',
    changes: [
      {
        file: 'store/runs/fair/arrive.ts',
        from: 'is_ready = coalesce(${NOT_BEFORE} <= tock.now(), true), ready_at = case when ${NOT_BEFORE} > tock.now() then ${NOT_BEFORE} end`',
        to: 'is_ready = true, ready_at = null`',
      },
    ],
    found: /^I24/,
  },
  {
    name: 'no fence: a holder writes by id alone',
    story: 'wakesUp',
    changes: NO_FENCE,
    found: /^I[134]/,
  },
  {
    name: 'the attempt is counted when it fails, not when it is claimed',
    story: 'ordinary',
    changes: [
      {
        file: 'store/runs/claim/claimed-run.ts',
        from: 'attempts = ${run}.attempts + 1, fence',
        to: 'attempts = ${run}.attempts, fence',
      },
      {
        file: 'store/runs/give-back.ts',
        from: `status = '\${TRANSITIONS.fail.to}',`,
        to: `status = '\${TRANSITIONS.fail.to}', attempts = r.attempts + 1,`,
      },
    ],
    found: /^I5/,
  },
  {
    name: 'the host’s clock decides what is due',
    story: 'ordinary',
    changes: [
      {
        file: 'store/runs/claim/queue-lanes.ts',
        from: '${run}.run_at <= tock.now()',
        to: '${run}.run_at <= clock_timestamp()',
      },
    ],
    found: /^I11/,
  },
  {
    name: 'no cursor: occurrences are computed from now',
    story: 'ordinary',
    changes: [
      {
        file: 'model/planning/plan-occurrences.ts',
        from: 'const first = schedule.next(definition.cursor_ms);',
        to: 'const first = schedule.next(Math.max(definition.cursor_ms, now - 30_000));',
      },
    ],
    found: /^I7/,
  },
  {
    name: 'no key: an occurrence is inserted whether it is there or not, and the cursor stays behind',
    story: 'ordinary',
    changes: [
      {
        file: 'store/runs/materialize.ts',
        from: 'join chosen on chosen.run_id = planned.id',
        to: '',
      },
      {
        file: 'store/definitions/due.ts',
        from: 'set cursor = greatest(d.cursor, to_timestamp(u.cursor / 1000))',
        to: `set cursor = d.cursor + (to_timestamp(u.cursor / 1000) - d.cursor) / 2`,
      },
    ],
    found: /^I[67]/,
  },
  {
    name: 'the reaper does not wait for the end of the lease',
    story: 'ordinary',
    changes: [
      {
        file: 'store/runs/reap/reapable.ts',
        from: '${run}.locked_until < tock.now()',
        to: "${run}.locked_until < tock.now() + interval '1 hour'",
      },
    ],
    found: /^I2/,
  },
  {
    name: 'an effect and its row in the ledger are committed apart',
    story: 'ordinary',
    changes: [
      {
        file: 'engine/execute/effects.ts',
        from: 'resultText(await atWork(() => work(session, trx)), effect)',
        to: 'resultText(await work(session, database.handlers.db as never), effect)',
      },
    ],
    found: /^I9/,
  },
  {
    name: 'a run that ends dead is deleted and not kept',
    story: 'kills',
    changes: [
      {
        file: 'store/runs/reap/reap.ts',
        from: "insertFinished('gone r', {",
        to: "insertFinished('gone r where false', {",
      },
    ],
    found: /^I14/,
  },
  {
    name: 'a worker hands off a run that it does not hold any more, and has not noticed that',
    story: 'handsOffLate',
    changes: [
      {
        file: 'engine/worker/heartbeat.ts',
        from: 'if (active.isLost) return;',
        to: 'if (!active.isLost) return;',
      },
      {
        file: 'store/runs/hand-off/hand-off.ts',
        from: "where ${isHeld('r', 'succeed')} order by r.id for update",
        to: 'where r.id = any(:ids::bigint[]) and :fences::integer[] is not null order by r.id for update',
      },
    ],
    found: /^I3/,
  },
  {
    name: 'a run that was handed off is completed under any fence',
    story: 'answersLate',
    alterations: [
      {
        function: 'lock_handed_off',
        from: 'and r.fence = lock_handed_off.fence and r.status',
        to: 'and r.status',
      },
      // Otherwise the run would never end, which is found out too, but late.
      { function: 'decide', from: 'where r.id = decide.run and', to: 'where false and' },
    ],
    found: /^I15/,
  },
  {
    name: 'a run that was handed off is completed after the end of its lease',
    story: 'completesLate',
    alterations: [
      {
        function: 'lock_handed_off',
        from: 'and r.locked_until >= ',
        to: "and r.locked_until + interval '1 year' >= ",
      },
    ],
    found: /^I15/,
  },
  {
    name: 'a run is taken back though what becomes of it was decided',
    story: 'completes',
    alterations: [
      {
        function: 'decide',
        from: `set locked_until = '9999-12-31Z'`,
        to: 'set locked_until = r.locked_until',
      },
    ],
    found: /^I16/,
  },
  {
    name: 'what was decided is not what becomes of the run',
    story: 'completes',
    changes: [
      {
        file: 'engine/finalize/decided.ts',
        from: "if (decision === 'succeeded') return { kind: 'returned', value: output };",
        to: "if (decision === 'succeeded') return { kind: 'threw', error: output };",
      },
    ],
    found: /^I16/,
  },
  {
    name: 'no second look after a wait is on record',
    story: 'hearsTooLate',
    changes: [
      {
        file: 'engine/execute/suspend.ts',
        from: 'event: async () => await endOwnWait.first(database, { wait: opened.id }),',
        to: 'event: () => Promise.resolve(undefined),',
      },
    ],
    found: /^I18/,
  },
  {
    name: 'a run is suspended though its wait has ended meanwhile',
    story: 'hearsWhileItEnds',
    changes: [
      {
        file: 'store/runs/give-back.ts',
        from: 'and tock.wait_is_over(o.wait_id) then',
        to: 'and false then',
      },
    ],
    found: /^I18/,
  },
  {
    name: 'a run is made due only if it was queued when the statement began',
    story: 'hearsAtTheEnd',
    changes: [
      {
        file: 'store/runs/waits/waits.ts',
        from: 'where r.id = any(array(select e.run_id from ended',
        to: "where r.status = 'queued' and r.id = any(array(select e.run_id from ended",
      },
    ],
    found: /^I18/,
  },
  {
    name: 'ends are counted: those that were noted, and those that have come',
    story: 'joinsTooLate',
    changes: [
      {
        file: 'store/runs/waits/waits.ts',
        from: 'not tock.has_live_runs(w.id)',
        to: 'not exists (select from tock.job_awaited_runs a where a.wait_id = w.id and a.status is null and a.run_id <> all(:runs::bigint[]))',
      },
    ],
    found: /^I18/,
  },
  {
    name: 'a wait for several runs ends with the first of them',
    story: 'families',
    changes: [
      {
        file: 'store/runs/waits/waits.ts',
        from: 'not tock.has_live_runs(w.id)',
        to: 'not exists (select from tock.job_awaited_runs a where a.wait_id = w.id and a.status is null and a.run_id = any(:runs::bigint[]))',
      },
    ],
    found: /^I20/,
  },
  {
    name: 'the join of a group starts when its first member has ended',
    story: 'groups',
    changes: [{ file: 'store/runs/waits/waits.ts', from: 'not tock.has_live_runs(w.id)', to: 'true' }],
    found: /^I20/,
  },
  {
    name: 'the join of a group is due from the start',
    story: 'groups',
    alterations: [{ function: 'join_runs', from: 'else r.run_at end', to: 'else tock.now() end' }],
    found: /^I22/,
  },
  {
    name: 'a child is enqueued outside of the transaction of its row in the ledger',
    story: 'begetsLate',
    changes: [
      { file: 'engine/execute/effects.ts', from: 'await write(session);', to: 'await write(database);' },
    ],
    found: /^I21/,
  },
];
