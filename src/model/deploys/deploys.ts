// Deploys: which version of the app executed an attempt. Its name is the app's own: a version, a commit.
//
// A worker's id begins with the code of its deploy, and every run keeps the id of its last worker. So the
// deploy of an attempt costs neither a byte of its run nor a row of its worker.
import { createHash } from 'node:crypto';
import { TockError } from '../errors.js';
import { isStorable, quote } from '../names.js';

const MAX_BYTES = 100;
// oxlint-disable-next-line no-control-regex -- the characters that a name may not have
const REFUSED = /[\s\u0000-\u001f\u007f]/;

/** The name of a deploy. @throws TockError TOCK_BAD_OPTION */
export function checkDeploy(name: unknown): string {
  if (
    typeof name === 'string' &&
    name !== '' &&
    Buffer.byteLength(name) <= MAX_BYTES &&
    isStorable(name) &&
    !REFUSED.test(name)
  )
    return name;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `deploy ${quote(name)} is not 1 to ${MAX_BYTES} bytes without blanks, such as v42 or 8c1f2d9`,
  );
}

/** How many characters of a worker's id say which deploy it is of. */
export const CODE_LENGTH = 13;

/** What the ids of a deploy's workers begin with: 48 bits. */
export function deployCode(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}`;
}

/** A worker's id. @param random a random UUID @param deploy null: none is known */
export function workerIdOf(random: string, deploy: string | null): string {
  return deploy === null ? random : `${deployCode(deploy)}${random.slice(CODE_LENGTH)}`;
}

/** The lowest and the highest id of a deploy's workers. */
export function workerIdsOf(deploy: string): { readonly first: string; readonly last: string } {
  const code = deployCode(deploy);
  return { first: `${code}-0000-0000-000000000000`, last: `${code}-ffff-ffff-ffffffffffff` };
}

/** A deploy, as the API and `--json` show it. */
export interface DeployRecord {
  readonly name: string;
  /** When it was marked; else when its first worker was seen. */
  readonly at: Date;
  /** When its first worker was seen; null: none was. */
  readonly firstSeenAt: Date | null;
  /** Null: nobody has marked it. */
  readonly markedAt: Date | null;
  readonly markedBy: string | null;
  readonly note: string | null;
}

/** Options of `deploys.mark`. */
export interface MarkOptions {
  /** When it was deployed: a Date, or ISO text. Default: now, by the database's clock. */
  readonly at?: Date | string;
  /** Shown with it; at most 500 characters. */
  readonly note?: string;
}

/** `tock.deploys`. */
export interface DeployMethods {
  /** The deploys that were seen or marked, the latest first; 50 unless `limit` says otherwise. */
  list(options?: { readonly limit?: number }): Promise<DeployRecord[]>;
  /**
   * Marks a deploy, so that charts show it; again: its time and note change.
   * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME
   */
  mark(name: string, options?: MarkOptions): Promise<DeployRecord>;
}
