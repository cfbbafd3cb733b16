// What an error means to a reader of pages: a status and a sentence.
import { TockError } from '../model/errors.js';

export type ErrorStatus = 400 | 403 | 404 | 409 | 500 | 503;

const STATUSES: Readonly<Record<string, ErrorStatus>> = {
  TOCK_NOT_FOUND: 404,
  TOCK_BAD_STATE: 409,
  TOCK_VERSION_CONFLICT: 409,
  TOCK_FORBIDDEN: 403,
  TOCK_DATABASE_UNREACHABLE: 503,
  TOCK_CLOSED: 503,
  TOCK_NOT_MIGRATED: 503,
};

export function explainError(error: unknown): { readonly status: ErrorStatus; readonly message: string } {
  if (error instanceof TockError) return { status: STATUSES[error.code] ?? 400, message: error.message };
  return { status: 500, message: 'the page could not be made; the log has the error' };
}
