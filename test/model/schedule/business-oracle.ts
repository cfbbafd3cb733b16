// Asks business-oracle.py, which knows local times by Python's zoneinfo, and days by dateutil.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { lacks } from '../../support/needs.js';

/** A schedule in the oracle's words: one of `dates`, `weekdays`, `business` and `step`. */
export interface OracleCase {
  readonly zone: string;
  /** Half-open, ISO text with an offset. */
  readonly from: string;
  readonly to: string;
  /** `HH:MM`. */
  readonly times: readonly string[];
  readonly dates?: readonly number[];
  readonly weekdays?: readonly number[];
  readonly business?: readonly number[];
  readonly step?: number;
  readonly anchor?: string;
  readonly dst?: 'once' | 'skip' | 'literal';
  readonly weekend?: readonly number[];
  /** `de`: the public holidays of all of Germany. */
  readonly holidays?: readonly string[] | 'de';
  readonly shift?: 'next' | 'previous' | undefined;
}

const SCRIPT = path.join(import.meta.dirname, 'business-oracle.py');
const PYTHON = '/usr/bin/python3';

export const hasNoDateutil = () => lacks('python3-dateutil');

/** The instants of each, as ISO text. */
export function askOracle(cases: readonly OracleCase[]): string[][] {
  const { stdout, stderr, status } = spawnSync(PYTHON, [SCRIPT], {
    input: JSON.stringify(cases),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`business-oracle.py: ${stderr}`);
  return (JSON.parse(stdout) as number[][]).map(found => found.map(at => new Date(at * 1000).toISOString()));
}
