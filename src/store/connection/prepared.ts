// Room: store. The word by which a statement is prepared. In a file of its own: it is asked for by statements that are
// read where nothing is executed, and database.ts loads Kysely.

/** For the few statements that are run again and again, whose plan would cost more than their work. */
export const PREPARED = 'prepared';
