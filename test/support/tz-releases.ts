// Room: test support. The releases of the time zone database since 2020, from the packages in which they were published.
// In: a release. Out: its offsets as the zone data of a process.
import { createRequire } from 'node:module';
import path from 'node:path';
import type { YearTable } from '../../src/model/schedule/zone/offset-table.js';
import type { ZoneData } from '../../src/model/schedule/zone/zone-data.js';
import { lacks } from './needs.js';

/**
 * Releases, and a day at which hosts could have them, by which the test's clock goes. What was released between two of
 * them came with the later one. Four are installed with the root's packages, the others by `npm ci` in their folder.
 */
export const RELEASES = [
  ['2019c', '2019-09-11'],
  ['2020a', '2020-04-23'],
  ['2020d', '2020-10-21'],
  ['2021a', '2021-01-24'],
  ['2021e', '2021-10-21'],
  ['2022c', '2022-08-15'],
  ['2022e', '2022-10-11'],
  ['2022f', '2022-10-28'],
  ['2022g', '2022-11-29'],
  ['2023b', '2023-03-23'],
  ['2023c', '2023-03-28'],
  ['2023d', '2023-12-21'],
  ['2024a', '2024-02-01'],
  ['2024b', '2024-09-04'],
  ['2025a', '2025-01-15'],
  ['2025b', '2025-03-22'],
  ['2026a', '2026-03-18'],
  ['2026b', '2026-04-26'],
  ['2026c', '2026-07-19'],
  ['2026d', '2026-09-15'],
  ['2026e', '2026-10-02'],
  ['2026f', '2026-10-29'],
] as const;
export type Release = (typeof RELEASES)[number][0];

interface Packed {
  readonly version: string;
  readonly zones: readonly string[];
  readonly links: readonly string[];
}

/** Changes of a zone, in epoch seconds and seconds east of UTC; `offsets` has one more: the first. */
interface Changes {
  readonly at: readonly number[];
  readonly offsets: readonly number[];
}

export interface ReleaseData extends ZoneData {
  readonly names: readonly string[];
  readonly changesOf: (name: string) => Changes | undefined;
}

const FOLDER = path.resolve('test/tz-releases');

/** For `it.skipIf`. */
export const lacksReleases = () => lacks('time zone releases');

const load = createRequire(path.join(FOLDER, 'package.json'));
const opened = new Map<string, ReleaseData>();

/** The data of a release; a zone that it lacks has offset 0. */
export function releaseData(release: Release): ReleaseData {
  const known = opened.get(release);
  if (known) return known;
  const packed = load(`tzdata-${release}/data/packed/latest.json`) as Packed;
  if (packed.version !== release) throw new Error(`the package of ${release} holds ${packed.version}`);
  const texts = new Map(packed.zones.map(text => [text.slice(0, text.indexOf('|')), text]));
  for (const link of packed.links) {
    const [name = '', alias = ''] = link.split('|');
    texts.set(alias, texts.get(name) ?? '');
  }
  const unpacked = new Map<string, Changes>();
  const changesOf = (name: string) => {
    const text = texts.get(name);
    if (text === undefined) return undefined;
    const changes = unpacked.get(name) ?? unpack(text);
    unpacked.set(name, changes);
    return changes;
  };
  const data: ReleaseData = {
    version: release,
    names: [...texts.keys()].sort(),
    changesOf,
    yearOf: (name, year) => yearOf(changesOf(name) ?? { at: [], offsets: [0] }, year),
  };
  opened.set(release, data);
  return data;
}

/** moment-timezone's format: `name|abbreviations|offsets west in minutes|indices|minutes between the changes|people`. */
function unpack(text: string): Changes {
  const [, , offsets = '', indices = '', steps = ''] = text.split('|');
  const west = offsets.split(' ').map(base60);
  let minutes = 0;
  const at = (steps === '' ? [] : steps.split(' ')).map(step => (minutes += base60(step)) * 60);
  return {
    at: at.slice(0, indices.length - 1).map(Math.round),
    offsets: indices.split('').map(index => Math.round(-60 * (west[base60(index)] ?? 0)) || 0),
  };
}

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX';

function base60(text: string): number {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\w*)\.?(\w*)$/.exec(text) ?? [];
  const value =
    whole.split('').reduce((sum, digit) => sum * 60 + DIGITS.indexOf(digit), 0) +
    fraction.split('').reduce((sum, digit, index) => sum + DIGITS.indexOf(digit) / 60 ** (index + 1), 0);
  return sign === '-' ? -value : value;
}

function yearOf({ at, offsets }: Changes, year: number): YearTable {
  const [start, end] = [Date.UTC(year, 0, 1) / 1000, Date.UTC(year + 1, 0, 1) / 1000];
  const before = at.filter(second => second < start).length;
  const inside = at.filter(second => second >= start && second < end);
  return {
    first: offsets[before] ?? 0,
    at: inside,
    offsets: inside.map((_, index) => offsets[before + index + 1] ?? 0),
  };
}
