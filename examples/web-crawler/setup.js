// Creates the crawler's own table. Safe to repeat.
import pg from 'pg';
import { TABLES } from './lib/tables.js';

const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
await client.query(TABLES);
await client.end();
