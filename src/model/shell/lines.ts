// Cuts the output of a command into lines, in bounded memory, whatever bytes it holds.

/** Bytes of a line that are kept; a line of a run's log has little more room. */
const MAX_LINE_BYTES = 6000;
const LF = 10;
const CR = 13;

interface Segment {
  readonly parts: Buffer[];
  bytes: number;
  cutBytes: number;
}

const segment = (): Segment => ({ parts: [], bytes: 0, cutBytes: 0 });

/**
 * Calls `onLine` with each line, without its end, and with the last one even if no line end follows. As on
 * a terminal, what is written after a lone carriage return replaces what stands before it: `onProgress` gets
 * both, at once, because the end of such a line may come minutes later.
 */
export class LineReader {
  private readonly onLine: (text: string) => void;
  private readonly onProgress: (text: string) => void;
  private current = segment();
  /** What stands before a carriage return, until it is known what follows. */
  private returned: Segment | null = null;

  constructor(onLine: (text: string) => void, onProgress: (text: string) => void) {
    this.onLine = onLine;
    this.onProgress = onProgress;
  }

  push(chunk: Buffer): void {
    let start = 0;
    let lf = chunk.indexOf(LF);
    let cr = chunk.indexOf(CR);
    while (lf >= 0 || cr >= 0) {
      const isReturn = lf < 0 || (cr >= 0 && cr < lf);
      const at = isReturn ? cr : lf;
      const isWhole = !isReturn && this.current.bytes === 0 && at > start && at - start <= MAX_LINE_BYTES;
      // By far the most lines.
      if (isWhole) this.wholeLine(chunk.toString('utf8', start, at));
      else {
        this.take(chunk.subarray(start, at));
        if (isReturn) this.carriageReturn();
        else this.newLine();
      }
      start = at + 1;
      if (isReturn) cr = chunk.indexOf(CR, start);
      else lf = chunk.indexOf(LF, start);
    }
    this.take(chunk.subarray(start));
  }

  /** The output has ended. */
  end(): void {
    if (this.current.bytes > 0 || this.returned !== null) this.newLine();
  }

  private take(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.returned = null;
    const { current } = this;
    const kept = bytes.subarray(0, Math.max(0, MAX_LINE_BYTES - current.bytes));
    // A copy: the rest of a large chunk is not to stay in memory because of one line.
    if (kept.length > 0) current.parts.push(Buffer.from(kept));
    current.bytes += kept.length;
    current.cutBytes += bytes.length - kept.length;
  }

  private carriageReturn(): void {
    if (this.current.bytes === 0) return;
    this.returned = this.current;
    this.current = segment();
    this.onProgress(textOf(this.returned));
  }

  private wholeLine(text: string): void {
    this.returned = null;
    this.onProgress(text);
    this.onLine(text);
  }

  private newLine(): void {
    const isNew = this.returned === null;
    const text = textOf(this.returned ?? this.current);
    this.returned = null;
    this.current = segment();
    if (isNew) this.onProgress(text);
    this.onLine(text);
  }
}

function textOf({ parts, cutBytes }: Segment): string {
  const text = Buffer.concat(parts).toString('utf8');
  return cutBytes === 0 ? text : `${text}… (${cutBytes} more bytes)`;
}
