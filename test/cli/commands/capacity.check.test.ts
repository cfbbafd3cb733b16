// `tock capacity`: one screen, one document, and sizes that cannot be read.
import { describe, expect, it } from 'vitest';
import type { CapacityReport } from '../../../src/index.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const harness = openOnce(openCliHarness, harness => harness.tock(['run', 'greet', '--wait']));

describe('tock capacity', () => {
  it('says what it does not know, and how to name it', async () => {
    const { code, stdout, stderr } = await harness.tock(['capacity']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^growth +not known before two whole weeks are on record/m);
    expect(stdout).toMatch(/^disk +[\d.]+ MB +name its size: --disk 200GB$/m);
    expect(stdout).toMatch(/^connections +\d+ +\d+ +\d+% +grows with processes$/m);
    expect(stdout).toMatch(/^nothing ends within ten years, as far as it is known$/m);
  });

  it('names what ends first, and what to do', async () => {
    const { stdout } = await harness.tock(['capacity', '--disk', '1MB']);
    expect(stdout).toMatch(/^ends first: disk, now\n {2}keep less: tock prune --keep 30d/m);
  });

  it('prints one document with --json', async () => {
    const report = await harness.json<CapacityReport>(['capacity', '--disk', '1.5TB', '--cores', '0.5']);
    expect(report.endsFirst).toBeNull();
    expect(report.resources.map(({ code }) => code).sort()).toEqual([
      'connections',
      'cpu',
      'disk',
      'wal',
      'workers',
    ]);
    expect(report.resources.find(({ code }) => code === 'disk')?.limit).toBe(1.5 * 2 ** 40);
    expect(report.resources.find(({ code }) => code === 'cpu')?.limit).toBe(0.5);
  });

  it.each([
    [['--disk', 'much'], '--disk much: write a size such as 200GB or 1.5TB'],
    [['--disk', '0'], '--disk 0: write a size such as 200GB or 1.5TB'],
    [['--cores', 'all'], '--cores all: it must be a number above 0, such as 4 or 0.5'],
    [['--disc', '1GB'], "unknown option '--disc' (Did you mean --disk?)"],
  ])('refuses %s', async (flags, message) => {
    const { code, stderr } = await harness.tock(['capacity', ...flags]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
