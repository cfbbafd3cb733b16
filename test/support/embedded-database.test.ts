// Test support: the database that each test file has for itself.
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { query } from '../embedded/embedded-harness.js';
import { createTestDatabase } from './embedded-database.js';

describe('createTestDatabase', () => {
  it('gives an empty database of its own, and drops it while it is in use', async () => {
    const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    expect(one.url).not.toBe(other.url);
    await query(one.url, 'create table mine (id int)');
    expect(await query(other.url, `select to_regclass('mine')`)).toBeNull();
    const client = new Client({ connectionString: one.url });
    const broken = new Promise(resolve => client.on('error', resolve));
    await client.connect();
    await Promise.all([one.drop(), other.drop()]);
    await broken;
    await expect(query(one.url, 'select 1')).rejects.toMatchObject({ code: '3D000' });
  });
});
