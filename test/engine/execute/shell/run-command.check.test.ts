// Engine: a command in a process group of its own.
// In the check: it starts processes, and measures how far they get.
import { describe, expect, it } from 'vitest';
import { RunningCommand } from '../../../../src/engine/execute/shell/run-command.js';
import { until } from '../../../support/until.js';

const start = (
  program: string,
  args: readonly string[],
  onOutput = (_name: string, _chunk: Buffer) => null,
) =>
  new RunningCommand(
    { program, args, cwd: null, env: { PATH: '/usr/bin:/bin' }, stdin: { text: '' } },
    onOutput,
  );

describe('RunningCommand', () => {
  it('gives the exit code, or the signal with its number', async () => {
    expect(await start('sh', ['-c', 'exit 7']).ended).toEqual({
      code: 7,
      signal: null,
      signalCode: null,
      error: null,
    });
    expect(await start('sh', ['-c', 'kill -TERM $$']).ended).toEqual({
      code: null,
      signal: 'SIGTERM',
      signalCode: 143,
      error: null,
    });
  });

  it('gives the reason why there is no process', async () => {
    expect(await start('no-such-command', []).ended).toMatchObject({ error: { code: 'ENOENT' } });
    expect(await start('echo', ['a\0b']).ended).toMatchObject({
      code: null,
      error: { code: 'ERR_INVALID_ARG_VALUE' },
    });
  });

  it('reads no more while its output is not taken, and loses nothing of it', async () => {
    let bytes = 0;
    let waiting = 0;
    let most = 0;
    const command = new RunningCommand(
      {
        program: 'sh',
        args: ['-c', 'head -c 2000000 /dev/zero'],
        cwd: null,
        env: { PATH: '/usr/bin:/bin' },
        stdin: { text: '' },
      },
      async (_, chunk) => {
        most = Math.max(most, ++waiting);
        for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve));
        waiting--;
        bytes += chunk.length;
      },
    );
    await command.ended;
    await until(async () => bytes === 2_000_000, 'all of it');
    // What was on its way comes as well.
    expect(most).toBeLessThan(4);
  });

  it('does nothing when it is stopped after its end', async () => {
    const command = start('true', []);
    const end = await command.ended;
    command.stop(0);
    expect([end.code, command.hasExited]).toEqual([0, true]);
  });
});
