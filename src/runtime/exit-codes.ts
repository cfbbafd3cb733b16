// Exit codes: 1 failed, 2 usage error, 3 database unreachable; where a monitor asks, 4 for a warning.

import { TockError, type TockErrorCode } from '../model/errors.js';
import type { HealthLevel } from '../model/problems.js';
import { redact } from '../model/run/sanitize.js';
import { explainDatabaseError } from '../store/connection/errors.js';

const USAGE: readonly TockErrorCode[] = [
  'TOCK_BAD_SCHEDULE',
  'TOCK_BAD_DURATION',
  'TOCK_BAD_JOB',
  'TOCK_DUPLICATE_JOB',
  'TOCK_UNKNOWN_JOB',
  'TOCK_BAD_PAYLOAD',
  'TOCK_BAD_RESULT',
  'TOCK_BAD_KEY',
  'TOCK_BAD_TIME',
  'TOCK_BAD_OPTION',
  'TOCK_BAD_SCHEMA_NAME',
  'TOCK_JOBS_NOT_FOUND',
  'TOCK_NO_DATABASE',
  'TOCK_WOULD_VANISH',
  'TOCK_NAME_TAKEN',
  'TOCK_NO_EMBEDDED_SERVER',
  'TOCK_FOLDER_NOT_WRITABLE',
];
const UNREACHABLE: readonly TockErrorCode[] = [
  'TOCK_DATABASE_UNREACHABLE',
  'TOCK_NO_CONNECTION',
  'TOCK_EMBEDDED_SERVER_FAILED',
];

export interface Verdict {
  readonly exitCode: 1 | 2 | 3;
  readonly code: string;
  readonly message: string;
}

export function judgeError(thrown: unknown, schema: string): Verdict {
  const error = explainDatabaseError(thrown, schema);
  const text = redact(error instanceof Error ? error.message : String(error));
  const message = text.replace(/\s*\n\s*/g, ' ');
  if (!(error instanceof TockError)) return { exitCode: 1, code: 'UNEXPECTED', message };
  return {
    exitCode: UNREACHABLE.includes(error.code) ? 3 : USAGE.includes(error.code) ? 2 : 1,
    code: error.code,
    message,
  };
}

/**
 * For a monitor: 0 nothing is wrong, 1 work is not being done, 4 it needs attention, or something is not
 * known that should be. 2 and 3 have their meaning in every command, so a warning is neither.
 */
export function healthExitCode(level: HealthLevel): 0 | 1 | 4 {
  if (level === 'ok') return 0;
  return level === 'failing' ? 1 : 4;
}
