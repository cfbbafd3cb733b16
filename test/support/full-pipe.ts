// Room: test support. A pipe that holds no more, as behind a reader that has stopped.
// In: the path of the named pipe to make. Out: a descriptor to write to, and a reader that can go on.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';

/** Makes it. */
export function fullPipe(file: string) {
  execFileSync('mkfifo', [file]);
  const reader = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
  const writer = openSync(file, constants.O_WRONLY);
  const fill = (bytes: number) => {
    try {
      for (;;) writeSync(reader, Buffer.alloc(bytes, 'x'));
    } catch {
      // It holds no more of that size.
    }
  };
  fill(4096);
  fill(1);
  let text = '';
  let timer: NodeJS.Timeout;
  const read = () => {
    const bytes = Buffer.alloc(65_536);
    try {
      for (;;) text += bytes.toString('utf8', 0, readSync(reader, bytes));
    } catch {
      // It is empty.
    }
    return text;
  };
  return {
    writer,
    drain: () => {
      timer = setInterval(read, 10);
      return read;
    },
    close: () => {
      clearInterval(timer);
      closeSync(reader);
      closeSync(writer);
    },
  };
}
