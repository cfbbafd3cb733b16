// A copy of an example project, with the package that is built here, and commands in it as its README has them.
import { spawn } from 'node:child_process';
import { cp, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { cleanEnvironment, root } from './served-package.mjs';

/** CI tries all examples at once, on two cores, and the package and the README beside them. */
const LIMIT_MS = 300_000;
const LOOK_MS = 100;

/** @param options `base`: where the copy is made; `env`: in addition to a user's own */
export async function openExample(name, { base, env }) {
  const folder = path.join(base, name);
  await cp(path.join(root, 'examples', name), folder, {
    recursive: true,
    filter: from => !/[\\/](?:node_modules|\.tock)$/.test(from),
  });
  const readme = await readFile(path.join(folder, 'README.md'), 'utf8');
  const { scripts } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
  const all = {
    ...cleanEnvironment,
    ...env,
    PATH: `${path.join(folder, 'node_modules/.bin')}${path.delimiter}${process.env.PATH}`,
  };

  const begin = (command, more = {}) => {
    const child = spawn('sh', ['-c', command], {
      cwd: folder,
      env: { ...all, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', text => (printed += stripVTControlCharacters(text)));
    const ended = new Promise(resolve => child.once('close', (code, signal) => resolve(code ?? signal)));
    let end = null;
    void ended.then(how => (end = how));
    return {
      printed: () => printed,
      ended,
      async until(pattern) {
        await until(`${name}: ${command} prints ${pattern}`, () => {
          if (end !== null && !pattern.test(printed))
            throw new Error(`${command} ended with ${end}:\n${printed}`);
          return pattern.test(printed);
        }).catch(error => {
          throw new Error(`${error.message}\n${printed}`, { cause: error });
        });
      },
      /** @throws unless it then ends well */
      async stop(signal = 'SIGTERM') {
        child.kill(signal);
        if ((await ended) !== 0)
          throw new Error(`${name}: after ${signal}, ${command} ended with ${end}:\n${printed}`);
      },
      kill: () => child.kill('SIGKILL'),
    };
  };
  const sh = async (command, more) => {
    const going = begin(command, more);
    const late = setTimeout(going.kill, LIMIT_MS);
    const code = await going.ended;
    clearTimeout(late);
    if (code !== 0) throw new Error(`${name}: ${command} ended with ${code}:\n${going.printed()}`);
    return going.printed();
  };
  return {
    name,
    folder,
    /** A script of package.json, as one process that gets signals. */
    beginScript: (script, more) => begin(`exec ${scripts[script]}`, more),
    begin,
    sh,
    /** A command that the README has. */
    async asWritten(command, more) {
      if (!readme.includes(command)) throw new Error(`the README of ${name} has no: ${command}`);
      return await sh(command, more);
    },
  };
}

/** Looks again and again until it is so. */
export async function until(what, isSo) {
  const end = Date.now() + LIMIT_MS;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`waited too long until ${what}`);
    await sleep(LOOK_MS);
  }
}
