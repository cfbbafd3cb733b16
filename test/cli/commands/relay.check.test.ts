// `tock relay`: what it says of wrong arguments, how it starts while no broker answers, how it stops.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness, until, words } from '../cli-harness.js';

const harness = openOnce(openCliHarness);

/** Nothing listens there. */
const NOWHERE = 'amqp://user:geheim@127.0.0.1:1';

describe('tock relay', () => {
  it('refuses a prefix that is none', async () => {
    const { code, stdout, stderr } = await harness.tock(
      words(`relay --queues mail --broker ${NOWHERE} --prefix 'a b'`),
    );
    expect(stderr).toMatch(/prefix "a b"/);
    expect(stderr).not.toContain('geheim');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it('starts although no broker answers, and stops on SIGTERM with exit code 0', async () => {
    const { child, printed, ended } = harness.begin(['relay', '--queues', 'mail'], {
      env: { TOCK_BROKER_URL: NOWHERE },
    });
    await until('it says that it relays', () => printed.stdout.includes('Ctrl-C stops it'));
    const queue = await harness.tock(['queue']);
    expect(queue.stdout).toMatch(/^mail .*relayed to rabbitmq/m);
    const status = await harness.tock(['status']);
    expect(status.stdout).toMatch(/^relay /m);
    expect(status.stdout).toContain(
      'relayed to rabbitmq, last 24 hours: mail 0 handed off: 0 completed, 0 failed, 0 taken back, 0 waiting',
    );
    child.kill('SIGTERM');
    const { code, stdout, stderr } = await ended;
    expect(stdout).toMatch(/^relaying mail from \S+ to rabbitmq. Ctrl-C stops it.\n/);
    expect(stdout).toMatch(/\nstopped: 0 published, 0 completed, 0 failed; 0 wait for an answer\n$/);
    expect(stderr).not.toContain('geheim');
    expect(code).toBe(0);
  });

  it('refuses a queue that is relayed elsewhere, and says what to do', async () => {
    const set = await harness.tock(['queue', 'set', 'push', '--relay', 'nats']);
    expect(set.stdout).toBe('push: relayed to nats (0 waiting, 0 running)\n');
    const { code, stderr } = await harness.tock(['relay', '--queues', 'push', '--broker', NOWHERE]);
    expect(stderr).toContain(
      'queue push is relayed to nats, not to rabbitmq; to change that, stop its relay and run: tock queue set push --relay rabbitmq',
    );
    expect(code).toBe(2);
    const unset = await harness.tock(['queue', 'set', 'push', '--relay', 'none']);
    expect(unset.stdout).toBe('push: no limits (0 waiting, 0 running)\n');
  });
});
