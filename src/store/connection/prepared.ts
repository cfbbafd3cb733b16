// How a session is asked to prepare a statement. A file of its own, because statements are also defined where
// none is executed, and database.ts loads Kysely.

/** For the few statements that run again and again, and whose planning would cost more than their work. */
export const PREPARED = 'prepared';
