// What an error means to the reader of a page: a status, a title, a sentence, and what to do.
import { explainDatabaseError, isStoppedStatement } from '../answers/reads.js';
import { TockError } from '../model/errors.js';

export interface Explained {
  readonly status: 400 | 403 | 404 | 409 | 500 | 503;
  readonly title: string;
  readonly message: string;
  /** Whether to try again soon: the page asks again by itself. */
  readonly isPassing: boolean;
}

const STATUSES: Readonly<Record<string, Explained['status']>> = {
  TOCK_NOT_FOUND: 404,
  TOCK_BAD_STATE: 409,
  TOCK_VERSION_CONFLICT: 409,
  TOCK_FORBIDDEN: 403,
  TOCK_DATABASE_UNREACHABLE: 503,
  TOCK_NOT_MIGRATED: 503,
  TOCK_CLOSED: 503,
};

const TITLES: Readonly<Record<Explained['status'], string>> = {
  400: 'This request cannot be understood',
  403: 'Your role does not allow this',
  404: 'There is no such page',
  409: 'This is no longer possible',
  500: 'This page could not be made',
  503: 'The database cannot be reached',
};

/** @param schema of the Tock, for the words about a missing table */
export function explainError(error: unknown, schema = 'tock'): Explained {
  if (isStoppedStatement(error)) {
    return {
      status: 503,
      title: 'The database takes too long',
      message:
        'A read was stopped after 5 seconds, so that it does not slow the scheduler down. Narrow what you ask for, or try again when the database is less busy.',
      isPassing: false,
    };
  }
  const known = explainDatabaseError(error, schema);
  if (!(known instanceof TockError)) {
    const message = 'This is an error in Tock, or in the app around it. The log has it in full.';
    return { status: 500, title: TITLES[500], message, isPassing: false };
  }
  const status = STATUSES[known.code] ?? 400;
  const title = known.code === 'TOCK_NOT_MIGRATED' ? 'The database is not ready' : TITLES[status];
  return { status, title, message: sentence(known.message), isPassing: status === 503 };
}

/** With a capital and a full stop: messages are written to stand after a colon. */
function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
