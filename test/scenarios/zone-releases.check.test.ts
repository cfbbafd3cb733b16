// The releases of the time zone database since 2020, one after another, on one database: after each update no stored
// instant is wrong, by an oracle that reads the packages' data by itself.
import { readFile } from 'node:fs/promises';
import { afterEach, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { differences, offsetTableOf } from '../../src/model/schedule/zone/offset-table.js';
import { setZoneData } from '../../src/model/schedule/zone/zone-data.js';
import { checkZoneName } from '../../src/model/schedule/zone/zone-names.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { lacksReleases, RELEASES, type Release, releaseData } from '../support/tz-releases.js';

const report = defineJob({ name: 'report', run: () => null });
const test = openForEach(() => reuseTestTock([report]));
afterEach(() => setZoneData(null));

const DAY = 86_400;
const seconds = (text: string) => Date.parse(text) / 1000;
/** As packages are published, at noon: hosts are updated some time of the day. */
const clockOf = (date: string) => `${date}T12:00:00Z`;

const SCHEDULES = {
  morning: { cron: '0 8 * * *' },
  night: { cron: '30 2 * * *' },
  once: { at: '2036-11-12T08:00' },
};
const CIVIL = { morning: 8 * 3600, night: 2.5 * 3600 };
type Kind = keyof typeof SCHEDULES;

const isKnown = (name: string) => {
  try {
    checkZoneName(name);
    return true;
  } catch {
    return false;
  }
};

/** Packages end with 2037, and differ in how. */
const LAST = Date.UTC(2037, 0, 1) / 1000;

/** The zones that both have, and whose offsets differ from a year before to the end of 2036. */
function changedZones(before: Release, after: Release, now: number): string[] {
  const [old, young] = [releaseData(before), releaseData(after)];
  const tableOf = (data: typeof old, name: string) => offsetTableOf(year => data.yearOf(name, year), now);
  return old.names.filter(
    name =>
      isKnown(name) &&
      young.changesOf(name) !== undefined &&
      differences(tableOf(old, name), tableOf(young, name)).some(({ from }) => from < LAST),
  );
}

/** The offset at an instant, by the package itself. */
function offsetAt(release: Release, zone: string, at: number): number {
  const { at: changes, offsets } = releaseData(release).changesOf(zone) ?? { at: [], offsets: [0] };
  return offsets[changes.filter(second => second <= at).length] ?? 0;
}

/** The first instant that shows a local time; in a gap, the one by the offset before. */
function oracle(release: Release, zone: string, civil: number): number {
  const around = [civil - DAY, civil, civil + DAY].map(at => offsetAt(release, zone, at));
  const shown = around.map(offset => civil - offset).filter(at => offsetAt(release, zone, at) === civil - at);
  return shown.length > 0 ? Math.min(...shown) : civil - (around[0] ?? 0);
}

interface Stored {
  readonly name: string;
  readonly cursor: number;
  readonly next: number | null;
}
const readStored = async () =>
  new Map(
    (
      await test.sql<Stored>(
        `select name, extract(epoch from cursor)::float8 as cursor, extract(epoch from next_at)::float8 as next
         from tock.job_definitions where name <> 'report'`,
      )
    ).map(row => [row.name, row]),
  );

/** When it must be due: at the first of its local times after the last that was considered. */
function expected(kind: Kind, zone: string, last: number, release: Release): number {
  if (kind === 'once') return oracle(release, zone, seconds('2036-11-12T08:00Z'));
  const day = Math.floor(last / DAY) * DAY;
  const civils = [day - DAY, day, day + DAY, day + 2 * DAY].map(each => each + CIVIL[kind]);
  return oracle(release, zone, civils.find(civil => civil > last) ?? 0);
}

const nameOf = (zone: string, kind: Kind) => `${zone.replaceAll(/[^A-Za-z0-9]/g, '.')}-${kind}`;

it.skipIf(lacksReleases())(
  'leaves no stored instant wrong after any release since 2020',
  async () => {
    const pairs = RELEASES.slice(1).map(([release, date], index) => {
      const before = RELEASES[index]?.[0] ?? '2019c';
      return { before, release, date, zones: changedZones(before, release, Date.parse(clockOf(date))) };
    });
    const zones = [...new Set(pairs.flatMap(pair => pair.zones))].filter(
      zone => releaseData('2019c').changesOf(zone) !== undefined,
    );
    setZoneData(releaseData('2019c'));
    await test.setClock(clockOf(RELEASES[0][1]));
    await test.tock.tick();
    const kinds = Object.keys(SCHEDULES) as Kind[];
    await test.tock.schedules.upsertMany(
      zones.flatMap(zone =>
        kinds.map(kind => ({ name: nameOf(zone, kind), job: report, timezone: zone, ...SCHEDULES[kind] })),
      ),
    );

    const lines: string[] = [];
    for (const { before, release, date, zones: changed } of pairs) {
      await test.setClock(clockOf(date));
      await test.tock.tick({ concurrency: 50 });
      const old = await readStored();
      setZoneData(releaseData(release));
      await test.tock.register();
      const now = await readStored();
      let moved = 0;
      let wrong = 0;
      for (const zone of zones)
        for (const kind of kinds) {
          const [was, is] = [old.get(nameOf(zone, kind)), now.get(nameOf(zone, kind))];
          if (!was || !is) throw new Error(`${zone} is not there`);
          if (was.next !== is.next) moved++;
          const last = was.cursor + offsetAt(before, zone, was.cursor);
          if (is.next !== expected(kind, zone, last, release)) wrong++;
        }
      lines.push(
        `| ${release} | ${date} | ${changed.length} | ${changed.length * kinds.length} | ${moved} | ${wrong} |`,
      );
      expect.soft(wrong, release).toBe(0);
      // What has moved is not moved again.
      await test.tock.register();
      expect(await readStored()).toEqual(now);
    }
    const docs = await readFile('docs/adr/0080-offsets-are-kept-with-what-they-computed.md', 'utf8');
    expect(lines.filter(line => !docs.includes(line))).toEqual([]);
  },
  600_000,
);
