// Shows a run while waiting for it: a moving line in a terminal, a line per change in a pipe.
import { formatSpan } from '../../model/duration.js';
import { slotText } from '../../model/explain/slot.js';
import { receiverText } from '../../model/run/hand-off-record.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isNever } from '../../model/run/run-wait.js';
import { isFinished } from '../../model/run/states.js';
import type { Shell } from '../shell.js';
import { cleanLine, cut, terminalWidth, widthOf } from '../terminal.js';
import { errorLine, nameOf, progressBar } from './run-text.js';

export interface WaitView {
  readonly show: (run: RunRecord) => void;
  readonly end: () => void;
}

const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const CLEAR_LINE = '\u001B[2K';

/** Shows a run on `stream` for as long as it is live; nothing under --json. */
export function createWaitView(shell: Shell, stream: NodeJS.WriteStream = process.stderr): WaitView {
  if (shell.json) return { show: () => undefined, end: () => undefined };
  const view = stream.isTTY ? movingLine(stream) : plainLines(stream);
  // The command itself shows the outcome.
  const show = (run: RunRecord) => (isFinished(run.status) ? undefined : view.show(run));
  return { ...view, show };
}

function movingLine(stream: NodeJS.WriteStream): WaitView {
  let frame = 0;
  let isDrawn = false;
  const draw = stream.write.bind(stream);
  const erase = () => {
    if (isDrawn) draw(CLEAR_LINE);
    isDrawn = false;
  };
  // Other output, such as a log line, must not run into the moving line.
  const restore = [process.stdout, process.stderr].map(stream => before(stream, erase));
  return {
    show(run) {
      frame++;
      const text = `${FRAMES.charAt(frame % FRAMES.length)} run ${run.id} of ${nameOf(run)}: ${stateOf(run)}`;
      const bar = run.status === 'running' && run.progress ? `  ${progressBar(run.progress, true)}` : '';
      const room = (terminalWidth(stream) ?? 80) - 1;
      draw(`${CLEAR_LINE}${cut(text, Math.max(room - widthOf(bar), 1))}${bar}\r`);
      isDrawn = true;
    },
    end() {
      erase();
      for (const restoreStream of restore) restoreStream();
    },
  };
}

/** Calls `first` before each write to a stream; returns a function that undoes this. */
function before(stream: NodeJS.WriteStream, first: () => void): () => void {
  const write = stream.write.bind(stream);
  stream.write = ((...args: Parameters<typeof write>) => {
    first();
    return write(...args);
  }) as typeof write;
  return () => {
    stream.write = write;
  };
}

function plainLines(stream: NodeJS.WriteStream): WaitView {
  let lastLine = '';
  return {
    show(run) {
      const isMoving = run.status === 'running' && run.progress !== null;
      const text = isMoving && run.progress ? progressBar(run.progress, false) : stateOf(run, false);
      const line = `run ${run.id} of ${nameOf(run)}: ${text}`;
      if (line !== lastLine) stream.write(`${line}\n`);
      lastLine = line;
    },
    end: () => undefined,
  };
}

function stateOf(run: RunRecord, isCounting = true): string {
  const { status, attempts, maxAttempts, runAt, startedAt } = run;
  const left = runAt.getTime() - Date.now();
  if (status === 'queued' && isNever(runAt)) return 'queued, for an event or other runs';
  const due = !isCounting || left <= 0 ? `due ${runAt.toISOString()}` : `due in ${formatSpan(left)}`;
  if (run.handOff !== null)
    return cleanLine(`handed off${receiverText(run.handOff)}, attempt ${attempts} of ${maxAttempts}`);
  if (status === 'running') {
    const since =
      isCounting && startedAt ? ` for ${formatSpan(Math.max(Date.now() - startedAt.getTime(), 0))}` : '';
    return `running${since}, attempt ${attempts} of ${maxAttempts}`;
  }
  if (run.blockedOn !== null && left <= 0)
    return `queued, waits for ${cleanLine(slotText(run.blockedOn, run))}`;
  if (status === 'queued') return left > 0 ? `queued, ${due}` : 'queued';
  if (status === 'failed')
    return `attempt ${attempts + 1} of ${maxAttempts} is ${due}; the last one failed: ${errorLine(run)}`;
  return status;
}
