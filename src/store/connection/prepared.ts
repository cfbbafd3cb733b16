// Room: store/connection. How a session is asked to prepare a statement. A file of its own: statements are
// defined where none is executed, and database.ts loads Kysely.

/** For the few statements that are run again and again, whose planning would cost more than their work. */
export const PREPARED = 'prepared';
