// A process that runs one command of the built command line after another: what the commands share is loaded once.
// In: messages with arguments and environment. Out: what they print, on its own pipes, with a mark after each; the exit code as a message.
import { pathToFileURL } from 'node:url';

const [cli, mark] = process.argv.slice(2);
// Each command listens for broken pipes.
for (const emitter of [process, process.stdout, process.stderr]) emitter.setMaxListeners(0);
let count = 0;

async function run({ args, env }) {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.argv = [process.execPath, cli, ...args];
  const exited = new Promise(resolve => {
    process.exit = resolve;
  });
  // The query makes Node evaluate the command line's own file anew, and with it its state.
  count += 1;
  await import(`${pathToFileURL(cli).href}?${count}`);
  return await exited;
}

process.on('message', command => {
  void run(command).then(code => {
    process.stdout.write(mark);
    process.stderr.write(mark);
    process.send(code);
  });
});
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
