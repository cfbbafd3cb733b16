// Options of the capacity report: what the server may use.
import { TockError } from '../errors.js';
import { quote } from '../names.js';

/** Options of `capacity`. */
export interface CapacityOptions {
  /** What the database may take on the disk: bytes, or `200GB`. Default: not known. */
  readonly disk?: number | string | undefined;
  /** Cores of the server that Tock may use. Default 1. */
  readonly cores?: number | undefined;
}

/** As {@link CapacityOptions}, checked. `diskBytes` is null where it is not known. */
export interface Allowance {
  readonly diskBytes: number | null;
  readonly cores: number;
}

const MAX_CORES = 4096;

/** @throws TockError TOCK_BAD_OPTION */
export function checkCapacityOptions({ disk, cores = 1 }: CapacityOptions): Allowance {
  if (!(cores > 0 && cores <= MAX_CORES))
    throw new TockError(
      'TOCK_BAD_OPTION',
      `cores ${String(cores)} is not a number above 0, ${MAX_CORES} at most`,
    );
  return { diskBytes: disk === undefined ? null : readSize(disk), cores };
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  t: 2 ** 40,
  p: 2 ** 50,
};

/** `200GB`, `1.5 TB`, `800 MiB`, or bytes: powers of 1024. @throws TockError TOCK_BAD_OPTION */
export function readSize(size: number | string): number {
  const [, digits, unit] = /^\s*(\d+(?:\.\d+)?)\s*([kmgtp]?)(?:i?b|bytes)?\s*$/i.exec(String(size)) ?? [];
  const bytes = Number(digits) * (UNITS[(unit ?? '').toLowerCase()] ?? Number.NaN);
  if (bytes > 0 && Number.isFinite(bytes)) return Math.round(bytes);
  throw new TockError(
    'TOCK_BAD_OPTION',
    `the size ${quote(String(size))} cannot be read; write 200GB or 1.5TB`,
  );
}
