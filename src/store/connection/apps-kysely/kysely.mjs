// The app's kysely, as an import finds it; see load-kysely.cjs.
export { DefaultQueryExecutor, Kysely, PostgresDialect } from 'kysely';
