// Engine: Node's and the server's time zone data. They are of two ages on most machines, so that a zone which really
// differs is looked for; where there is none, the real part is left out.
import { beforeAll, describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { findProblems } from '../../../src/model/problems.js';
import { zoneDifferences } from '../../../src/model/schedule/zone/zone-agreement.js';
import { readZoneOffsets } from '../../../src/store/definitions/zones/zone-offsets.js';
import { openDatabase } from '../../support/database.js';
import { openOnce } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const DAY = 86_400;
const test = openOnce(() => reuseTestTock([]));
let differing: string | undefined;
beforeAll(async () => {
  const database = openDatabase({ connectionString: test.url });
  const start = Math.floor(Date.now() / 1000);
  const rows = await readZoneOffsets(database, Intl.supportedValuesOf('timeZone'), {
    start,
    step: DAY,
    count: 380,
  });
  differing = rows.find(
    each => each.offsets && zoneDifferences(each.timezone, start, DAY, each.offsets).length > 0,
  )?.timezone;
  await database.close();
});

const nightly = (name: string, timezone: string) =>
  defineJob({ name, schedule: { cron: '30 2 * * *', timezone }, run: () => null });

describe('the time zone data', () => {
  it('are not complained of where Node and the server agree on the zones in use', async () => {
    const tock = test.another({ jobs: [nightly('kolkata', 'Asia/Kolkata')] });
    await tock.register();
    expect((await tock.status()).zoneDisagreements).toEqual([]);
  });

  it('are complained of before an occurrence is affected, with the zone and what it affects', async ({
    skip,
  }) => {
    if (differing === undefined) skip('Node and this server agree on every zone');
    const tock = test.another({
      jobs: [nightly('early', differing ?? ''), nightly('kolkata', 'Asia/Kolkata')],
    });
    await tock.register();
    await tock.tick();
    const status = await tock.status();
    const [found, ...others] = status.zoneDisagreements;
    expect(others).toEqual([]);
    expect(found).toMatchObject({ timezone: differing, definitions: ['early'] });
    expect(found?.nodeOffsetMinutes).not.toBe(found?.serverOffsetMinutes);
    expect(found?.firstAffected?.getTime()).toBeGreaterThan(status.at.getTime());
    expect(
      findProblems(status)
        .map(({ message }) => message)
        .join(),
    ).toMatch(
      new RegExp(
        `disagree on ${differing} from .*: UTC[+-]\\d\\d:\\d\\d and UTC[+-]\\d\\d:\\d\\d\\. First affected: early, `,
      ),
    );
  });

  it('leave out zones that the server does not know', async () => {
    const database = openDatabase({ connectionString: test.url });
    const rows = await readZoneOffsets(database, ['Europe/Berlin', 'Mars/Phobos'], {
      start: 0,
      step: DAY,
      count: 1,
    });
    await database.close();
    expect(rows).toEqual([
      { timezone: 'Europe/Berlin', offsets: [3600] },
      { timezone: 'Mars/Phobos', offsets: null },
    ]);
  });
});
