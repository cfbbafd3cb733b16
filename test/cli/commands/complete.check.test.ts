// `tock complete` and `tock fail`: what has become of a run that was handed off, and what is said when it is too late.
import { describe, expect, it } from 'vitest';
import { openClient } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const OVER = '00000000-0000-0000-0000-000000000000';

const harness = openOnce(openCliHarness);
const client = openOnce(() => openClient(harness.url));
let lastId = 9000;

/** A run that was handed off under the fence 3; resolves to its id. */
async function handedOff(until = "now() + interval '2 days'"): Promise<string> {
  const id = String(++lastId);
  await client.query(`
    insert into tock.job_runs_live (id, job, status, attempts, max_attempts, fence, locked_by, locked_until, run_at, started_at)
    values (${id}, 'greet', 'running', 2, 10, 3, '${OVER}', ${until}, ${until}, now() - interval '3 hours');
    insert into tock.job_hand_offs (run_id, fence, handed_off_at, handed_to, due_at, lease_until, refused_count)
    values (${id}, 3, now() - interval '3 hours', 'the bank', now() - interval '4 hours', ${until}, 0)`);
  return id;
}

interface Document {
  readonly held: boolean;
  readonly run: unknown;
}

describe('tock complete', () => {
  it('completes the run with its result, which the next tick writes', async () => {
    const id = await handedOff();
    const { code, stdout, stderr } = await harness.tock([
      'complete',
      `${id}.3`,
      '--result',
      '{"paid": true}',
    ]);
    expect(stdout).toBe(`run ${id} of greet is completed; the next tick writes that (tock tick)\n`);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    await harness.tock(['tick']);
    const { run } = await harness.json<Document>(['show', id]);
    expect(run).toMatchObject({ status: 'succeeded', output: { paid: true } });
  });

  it('takes the result from standard input', async () => {
    const id = await handedOff();
    const args = ['complete', `${id}.3`, '--result', '-', '--json'];
    const { stdout } = await harness.tock(args, { input: '[1, 2]' });
    expect(JSON.parse(stdout)).toMatchObject({
      id,
      fence: 3,
      held: true,
      run: { status: 'running', handOff: { decision: 'succeeded' } },
    });
  });

  it('says in one line that it is too late, and why, with exit code 1', async () => {
    const done = await handedOff();
    await harness.tock(['complete', `${done}.3`]);
    const overdue = await handedOff("now() - interval '1 hour'");
    const late = 'tock complete: too late, nothing was changed:';
    for (const [message, why] of [
      [`${done}.3`, /: it was handed off to the bank 3h ago, and was completed .* ago\n$/],
      [`${overdue}.3`, /: it was handed off to the bank 3h ago, and its lease ended 1h ago\n$/],
      [`${overdue}.2`, /run \d+ of greet has the fence 3 now\n$/],
      ['999999.1', /there is no run 999999\n$/],
    ] as const) {
      const { code, stdout, stderr } = await harness.tock(['complete', message]);
      expect(stderr.startsWith(late), stderr).toBe(true);
      expect(stderr).toMatch(why);
      expect(stderr.match(/\n/g)).toHaveLength(1);
      expect(stdout).toBe('');
      expect(code).toBe(1);
    }
    await harness.tock(['tick']);
    const { stderr } = await harness.tock(['complete', `${done}.3`]);
    expect(stderr).toBe(`${late} run ${done} of greet is succeeded\n`);
    expect(await harness.json<Document>(['complete', `${done}.3`])).toMatchObject({
      held: false,
      run: { status: 'succeeded' },
    });
  });

  it('refuses a result that is too large as wrong usage', async () => {
    const id = await handedOff();
    const input = JSON.stringify('x'.repeat(1024 * 1024));
    const { code, stderr } = await harness.tock(['complete', `${id}.3`, '--result', '-'], { input });
    expect(stderr).toMatch(/^tock complete: the result has 1048578 bytes, over the limit of 1048576; /);
    expect(code).toBe(2);
  });

  it('has its row in the audit, with the note', async () => {
    const id = await handedOff();
    const env = { TOCK_OPERATOR: 'mia' };
    await harness.tock(['complete', `${id}.3`, '--note', 'signed on paper'], { env });
    const { rows } = await client.query('select * from tock.audit where $1 = any(targets)', [id]);
    expect(rows).toMatchObject([
      { action: 'complete', operator: 'mia', via: 'cli', details: { job: 'greet', note: 'signed on paper' } },
    ]);
  });
});

describe('tock fail', () => {
  it.each([
    [[], 'has failed in this attempt', 'failed'],
    [['--dead'], 'has failed and is not tried again', 'dead'],
  ])('with %j ends the attempt', async (more, verb, status) => {
    const id = await handedOff();
    const { code, stdout } = await harness.tock(['fail', `${id}.3`, 'the \u001B[31mbank is closed', ...more]);
    expect(stdout).toBe(`run ${id} of greet ${verb}; the next tick writes that (tock tick)\n`);
    expect(code).toBe(0);
    await harness.tock(['tick']);
    const { run } = await harness.json<Document>(['show', id]);
    expect(run).toMatchObject({
      status,
      errors: [{ message: expect.stringContaining('bank is closed') as string }],
    });
  });

  it('has it tried again at the time that is given', async () => {
    const id = await handedOff();
    await harness.tock(['fail', `${id}.3`, 'closed today', '--retry-at', '2040-03-09T07:00:00Z']);
    await harness.tock(['tick']);
    const { run } = await harness.json<Document>(['show', id]);
    expect(run).toMatchObject({
      status: 'failed',
      runAt: expect.stringMatching(/^2040-03-09T07:00:0/) as string,
    });
  });

  it('refuses an empty message', async () => {
    const { code, stderr } = await harness.tock(['fail', `${await handedOff()}.3`, ' ']);
    expect(stderr).toBe('tock fail: the error is empty: say why the run has failed\n');
    expect(code).toBe(2);
  });
});
