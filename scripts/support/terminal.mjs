// A shell in a pseudo terminal, by script(1) of util-linux: types into it, and waits for what it answers.
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

const PROMPT = '\\[\\e[1;32m\\]$\\[\\e[0m\\] ';
const KEY_MS = 45;
const LIMIT_MS = 120_000;
const LOOK_MS = 20;

/** @param onOutput gets each piece of what the terminal is sent, escape sequences and all */
export async function openTerminal({ cwd, env, columns = 100, rows = 30, onOutput = () => {} }) {
  const shell = `stty echo cols ${columns} rows ${rows} && exec bash --noprofile --norc -i`;
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', shell, '/dev/null'], {
    cwd,
    env: {
      ...env,
      TERM: 'xterm-256color',
      SHELL: '/bin/sh',
      PS1: PROMPT,
      HISTFILE: '',
      INPUTRC: '/dev/null',
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let raw = '';
  let isEnded = false;
  child.stdout.setEncoding('utf8').on('data', text => {
    raw += text;
    onOutput(text);
  });
  child.stdin.on('error', () => undefined);
  const ended = new Promise(resolve => child.once('close', resolve));
  void ended.then(() => (isEnded = true));
  /** Where the answer to the last command begins. */
  let asked = 0;
  const answer = () => stripVTControlCharacters(raw.slice(asked)).replaceAll('\r', '');

  const until = async (pattern, limitMs = LIMIT_MS) => {
    const end = Date.now() + limitMs;
    while (!pattern.test(answer())) {
      if (isEnded) throw new Error(`the terminal was closed before it showed ${pattern}:\n${answer()}`);
      if (Date.now() > end) throw new Error(`no ${pattern} within ${limitMs / 1000} s:\n${answer()}`);
      await sleep(LOOK_MS);
    }
    return answer();
  };
  const type = async text => {
    for (const key of text) {
      child.stdin.write(key);
      await sleep(KEY_MS);
    }
  };
  /** Resolves to what was printed once the shell asks for the next command. */
  const prompt = limitMs => until(/(?:^|\n)\$ $/, limitMs);
  const enter = async command => {
    await type(command);
    asked = raw.length;
    child.stdin.write('\r');
  };
  const interrupt = async () => {
    asked = raw.length;
    child.stdin.write('\u0003');
    return await prompt();
  };
  await prompt();
  return {
    until,
    prompt,
    enter,
    /** A command from the first key to the next prompt. */
    async run(command, limitMs) {
      await enter(command);
      return await prompt(limitMs);
    },
    /** Ctrl-C, until the shell is back. */
    interrupt,
    /** Ends what still runs, and the shell. */
    async close() {
      if (!isEnded) await interrupt().catch(() => child.kill('SIGKILL'));
      if (!isEnded) child.stdin.write('\u0004');
      await ended;
    },
  };
}
