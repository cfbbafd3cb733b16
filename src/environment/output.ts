// Standard output and standard error that cannot be written, as on a full disk: what is printed is lost, and
// the work goes on. Each loss is counted, so that a run's log and a command's exit code can tell of it.
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';

export type OutputName = 'stdout' | 'stderr';

interface Loss {
  /** Its place among all losses of this process, from 1 on. */
  readonly index: number;
  readonly reason: string;
}

const NAMES = ['stdout', 'stderr'] as const;
const WORDS = { stdout: 'standard output', stderr: 'standard error' } as const;
const DESCRIPTORS = { stdout: 1, stderr: 2 } as const;
/** Beyond this, the reader of a pipe has stopped; a handler that logs a lot at once stays below. */
const MAX_WAITING_BYTES = 16 * 2 ** 20;
/** How long a worker that has ended its work waits for the reader of its output. */
export const READER_TIMEOUT_MS = 10_000;

let count = 0;
const last: Partial<Record<OutputName, Loss>> = {};
const survivors = new Set<OutputName>();

/** How much was lost so far: for {@link lossSince}. */
export const lossCount = (): number => count;

/** A sentence on what could not be written after that count; null: all was written. */
export function lossSince(before: number, names: readonly OutputName[] = NAMES): string | null {
  const parts = names.flatMap(name => {
    const loss = last[name];
    return loss !== undefined && loss.index > before
      ? [`${WORDS[name]} could not be written (${loss.reason})`]
      : [];
  });
  return parts.length === 0 ? null : parts.join(', ');
}

/** Of what is printed; a log counts its own lines. */
export function noteLoss(name: OutputName, reason: string): void {
  last[name] = { index: ++count, reason };
}

/** For programs: an output that cannot be written does not end the process. */
export function surviveLostOutput(): void {
  for (const name of NAMES) {
    ignoreErrors(name);
    const stream: Writable = process[name];
    if (stream instanceof Socket) continue;
    // Node's own takes a write that a full disk has cut short for a whole one.
    stream._write = (chunk: Buffer, _encoding, done) => {
      const error = writeWhole(name, chunk);
      if (error !== null) noteLoss(name, reasonOf(error));
      done(error);
    };
  }
}

/**
 * For logs and child processes: written at once, so that a process that dies loses no last line. Never
 * throws, and never waits for the reader of a pipe.
 * @returns why it is lost; null: it is written, or waits for the reader
 */
export function writeOutput(name: OutputName, text: string | Uint8Array): string | null {
  const stream = process[name];
  if (!(stream instanceof Socket)) {
    const error = writeWhole(name, text);
    return error === null ? null : reasonOf(error);
  }
  if (stream.writableLength > MAX_WAITING_BYTES) return 'its reader has stopped';
  ignoreErrors(name);
  stream.write(text);
  return null;
}

/**
 * Resolves to whether all output has left the process.
 * @param withinMs how long the reader of a pipe may take; null: for ever
 */
export async function endOutput(withinMs: number | null): Promise<boolean> {
  const ended = Promise.all(NAMES.map(endStream)).then(() => true);
  if (withinMs === null) return await ended;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(resolve, withinMs, false);
  });
  return await Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

async function endStream(name: OutputName): Promise<void> {
  const stream: Writable = process[name];
  if (stream.writableLength === 0 || stream.destroyed || stream.writableEnded) return;
  await new Promise<void>(resolve => {
    stream.write('', () => resolve());
  });
}

/** A file or a device: it is written at once. */
function writeWhole(name: OutputName, text: string | Uint8Array): Error | null {
  try {
    writeFileSync(DESCRIPTORS[name], text);
    return null;
  } catch (error) {
    return error as Error;
  }
}

/** `ENOSPC: no space left on device` */
const reasonOf = ({ message }: Error): string => message.replace(/, write$/, '');

/** A pipe, socket or terminal fails only if its reader is gone, as in `tock runs | head`: that is no loss. */
function ignoreErrors(name: OutputName): void {
  if (survivors.has(name)) return;
  survivors.add(name);
  process[name].on('error', () => undefined);
}
