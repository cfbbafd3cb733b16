// `tock zones`: what it prints, and its exit code.
import { afterAll, describe, expect, it } from 'vitest';
import { defineJob, type ZonesReport } from '../../../src/index.js';
import { setZoneData } from '../../../src/model/schedule/zone/zone-data.js';
import { openOnce } from '../../support/open.js';
import { openTestTock } from '../../support/test-tock.js';
import { releaseData } from '../../support/tz-releases.js';
import { openWarmCli } from '../cli-harness.js';

const work = defineJob({ name: 'work', run: async () => undefined });
const test = openOnce(
  () => openTestTock([work]),
  async ({ tock, setClock }) => {
    setZoneData(releaseData('2022c'));
    await setClock('2022-10-12T12:00:00Z');
    await tock.tick();
    const timezone = 'Asia/Amman';
    await tock.schedules.upsert({ name: 'daily', job: 'work', cron: '0 8 * * *', timezone });
    await tock.schedules.upsert({ name: 'launch', job: 'work', at: '2022-11-12T08:00', timezone });
    await tock.schedules.upsert({ name: 'hourly', job: 'work', cron: '0 * * * *', timezone });
  },
);
afterAll(() => setZoneData(null));
const warm = openOnce(openWarmCli);
const zones = async (...flags: string[]) => await warm.call(['zones', ...flags], { DATABASE_URL: test.url });

describe('tock zones', () => {
  it('says which data hosts have, and what those of this host move', async () => {
    const { code, stdout, stderr } = await zones();
    expect([code, stderr]).toEqual([0, '']);
    const [own, host, computed, moves] = stdout.split('\n');
    expect(own).toBe(`this host has time zone data ${process.versions['tz'] ?? ''}`);
    expect(host).toContain('has 2022c, as of 2022-10-12T12:00:00Z');
    expect(computed).toBe('1 zone is computed by 2022c');
    expect(moves).toBe(
      '2 definitions in Asia/Amman move by 1h earlier, from 2022-10-27T22:00:00Z on; 1 of them with the next occurrence',
    );
    const report = JSON.parse((await zones('--json')).stdout) as ZonesReport;
    expect(report.zones[0]).toMatchObject({ preview: { byMs: -3_600_000, names: ['daily', 'launch'] } });
  });

  it('says what has moved, once a tick of a host with newer data has moved it', {
    tags: 'check',
  }, async () => {
    setZoneData(null);
    await test.tock.tick();
    const { stdout } = await zones();
    expect(stdout).toContain(
      `Asia/Amman: 2022c → ${process.versions['tz'] ?? ''} at 2022-10-12T12:00:00Z moved 1 definition`,
    );
    expect(stdout).toContain('nothing moves by the data of this host');
  });
});
