// Two services in one database, each with its deploys, roll-backs, stops and killed connections, in any order: neither
// loses a definition or an occurrence to the other. In the check: connections are killed under ticks.
import { expect, it } from 'vitest';
import { defineJob, type Tock } from '../../src/index.js';
import { proveAll } from '../support/prove-all.js';
import { rounds } from '../support/rounds.js';
import { fc } from '../support/seed.js';
import { openTestTock, type TestTock } from '../support/test-tock.js';

const SERVICES = ['billing', 'shop'] as const;
type Service = (typeof SERVICES)[number];
/** What each version has beside the job that all have; one name is in both services, but not at once. */
const VERSIONS = [[], ['extra'], ['other', 'more'], ['extra', 'more']] as const;

type Step =
  | { readonly does: 'deploy'; readonly service: Service; readonly version: number }
  | { readonly does: 'finish'; readonly service: Service }
  | { readonly does: 'stop'; readonly service: Service }
  | { readonly does: 'kill' }
  | { readonly does: 'wait'; readonly minutes: number };

const service = fc.constantFrom(...SERVICES);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ does: fc.constant('deploy' as const), service, version: fc.nat(VERSIONS.length - 1) }),
  fc.record({ does: fc.constant('finish' as const), service }),
  fc.record({ does: fc.constant('stop' as const), service }),
  fc.record({ does: fc.constant('kill' as const) }),
  fc.record({ does: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 7 }) }),
);

const namesOf = (of: Service, version: number) =>
  [`${of}-stays`, ...(VERSIONS[version] ?? []).map(name => `${of}-${name}`)].sort();

/** Returns what nothing explains. */
async function live(test: TestTock, steps: readonly Step[]): Promise<string[]> {
  const opened: Tock[] = [];
  const host = (of: Service, version: number): Tock => {
    const jobs = namesOf(of, version).map(name =>
      defineJob({ name, schedule: { cron: '* * * * *', catchup: 'all' }, run: () => null }),
    );
    const tock = test.another({ service: of, jobs, allowVanishing: true });
    opened.push(tock);
    return tock;
  };
  /** Those that tick each minute; in a deploy, the newer ones after the older ones. */
  const hosts = new Map<Service, { readonly version: number; readonly tock: Tock }[]>(
    SERVICES.map(of => [of, [{ version: 0, tock: host(of, 0) }]]),
  );
  const of = (name: Service) => hosts.get(name) ?? [];
  const tickAll = async () => {
    for (const { tock } of SERVICES.flatMap(of)) await tock.tick();
  };
  /** Whatever happens, what a service has had all the time is there. */
  const expectNoLoss = async () =>
    expect(
      await test.sql(
        `select name from tock.job_definitions where name like '%-stays' and vanished_at is not null`,
      ),
    ).toEqual([]);

  await tickAll();
  for (const each of steps) {
    if (each.does === 'wait')
      for (let minute = 0; minute < each.minutes; minute++) {
        await test.advance('1m');
        await tickAll();
      }
    else if (each.does === 'deploy')
      hosts.set(each.service, [
        ...of(each.service).slice(-1),
        { version: each.version, tock: host(each.service, each.version) },
      ]);
    else if (each.does === 'finish') hosts.set(each.service, of(each.service).slice(-1));
    else if (each.does === 'kill') {
      const ticks = () => SERVICES.flatMap(of).map(({ tock }) => tock.tick());
      await Promise.allSettled([
        ...ticks(),
        // Until they have ended.
        test.sql(
          `select pg_terminate_backend(pid, 60000) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
        ),
      ]);
      // A tick may still get an idle connection whose end its process has not read yet.
      await Promise.allSettled(ticks());
    } else await test.advance('10m');
    await tickAll();
    await expectNoLoss();
  }
  // All deploys end, and a roll-back has its five minutes.
  for (const name of SERVICES) hosts.set(name, of(name).slice(-1));
  for (let minute = 0; minute < 7; minute++) {
    await test.advance('1m');
    await tickAll();
  }
  await expectNoLoss();
  const inForce = await test.sql<{ service: string; names: string[] }>(
    `select service, array_agg(name order by name) as names from tock.job_definitions
     where vanished_at is null and origin = 'code' group by service order by service`,
  );
  expect(inForce).toEqual(
    SERVICES.map(name => ({ service: name, names: namesOf(name, of(name)[0]?.version ?? 0) })),
  );
  for (const tock of opened) await tock.close();
  return await proveAll(test.tock);
}

it('lose nothing to each other, whatever each of them deploys, rolls back and stops', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async steps => {
      const test = await openTestTock();
      try {
        await test.setClock('2026-03-01T12:00:30Z');
        expect(await live(test, steps)).toEqual([]);
      } finally {
        await test.close();
      }
    }),
    { numRuns: rounds(3, 15) },
  );
});
