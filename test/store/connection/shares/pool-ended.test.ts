// Store: an app that ends its pool before it closes Tock.
import pg from 'pg';
import { expect, it } from 'vitest';
import { sharesOf } from '../../../../src/store/connection/shares/pool-shares.js';
import { createTestDatabase } from '../../../support/embedded-database.js';
import { openForEach } from '../../../support/open.js';

const test = openForEach(createTestDatabase);

it('who is about to get an idle connection when the pool is ended is told so, and does not wait for ever', async () => {
  const pool = new pg.Pool({ connectionString: test.url, max: 1 });
  const shares = sharesOf(pool);
  (await shares.connect(60_000)).release();
  expect(pool.idleCount).toBe(1);
  const asked = shares.connect(60_000);
  await Promise.all([pool.end(), expect(asked).rejects.toMatchObject({ code: 'TOCK_POOL_ENDED' })]);
});
