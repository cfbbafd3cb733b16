// A worker that speaks SQL, on Node: claims, writes an effect, and completes in the same transaction.
const BATCH = 8;

/** Until it is killed. @param pg the package */
export async function work(pg) {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: BATCH + 1 });
  pool.on('error', () => undefined);
  for (;;) {
    const { rows } = await pool.query(`select * from tock.claim('work', $1, '5 seconds')`, [BATCH]);
    await Promise.all(rows.map(row => execute(pool, row)));
    if (rows.length === 0) await new Promise(resolve => setTimeout(resolve, 50));
  }
}

async function execute(pool, { run_id: run, fence, payload }) {
  await new Promise(resolve => setTimeout(resolve, 2 + ((payload.n * 7919) % 20)));
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(`insert into effects (n, by) values ($1, 'typescript')`, [payload.n]);
    const { rows } = await client.query('select tock.complete($1, $2, $3) as held', [run, fence, payload]);
    await client.query(rows[0].held ? 'commit' : 'rollback');
  } finally {
    client.release();
  }
}
