// The log of one attempt while it runs, in bounded memory: its first lines and its last ones.
import type { LogLine } from './log-line.js';

/** What is to be written of a log. Empty text: what was written stays. */
export interface UnwrittenLog {
  readonly head: string;
  readonly tail: string;
  readonly cutLines: number;
  /** Left out between head and tail, and within lines. In UTF-8, as stored. */
  readonly cutBytes: number;
  /** In milliseconds since its first line. */
  readonly elapsedMs: number;
  /** For {@link RunLog.noteWritten}. */
  readonly revision: number;
  readonly headBytes: number;
}

/**
 * Keeps whole lines: the first ones in one half of `maxBytes`, then the last ones in the other. Times are
 * milliseconds by any steady clock.
 */
export class RunLog {
  /** The table segment that holds its row; null before it was written. */
  segment: number | null = null;
  private readonly maxHead: number;
  private readonly maxTail: number;
  private head = '';
  private headBytes = 0;
  private isHeadFull = false;
  /** From `tailStart` on; those before it are cut. */
  private tail: string[] = [];
  private tailStart = 0;
  private tailBytes = 0;
  private cutLines = 0;
  private cutBytes = 0;
  private firstAt: number | null = null;
  private revision = 0;
  private writtenRevision = 0;
  private writtenHeadBytes = 0;

  constructor(maxBytes: number) {
    this.maxHead = Math.floor(maxBytes / 2);
    this.maxTail = maxBytes - this.maxHead;
  }

  add({ body, cutBytes }: LogLine, atMs: number): void {
    this.firstAt ??= atMs;
    this.revision++;
    this.cutBytes += cutBytes;
    const line = `[${Math.max(0, Math.round(atMs - this.firstAt))},${body}\n`;
    const bytes = Buffer.byteLength(line);
    this.isHeadFull ||= this.headBytes + bytes > this.maxHead;
    if (this.isHeadFull) this.addToTail(line, bytes);
    else {
      this.head += line;
      this.headBytes += bytes;
    }
  }

  private addToTail(line: string, bytes: number): void {
    this.tail.push(line);
    this.tailBytes += bytes;
    while (this.tailBytes > this.maxTail) {
      const cut = Buffer.byteLength(this.tail[this.tailStart] ?? '');
      this.tail[this.tailStart++] = '';
      this.tailBytes -= cut;
      this.cutBytes += cut;
      this.cutLines++;
    }
    // Seldom, so that a flood moves each line once or twice.
    if (this.tailStart > 1024 && this.tailStart * 2 > this.tail.length) {
      this.tail = this.tail.slice(this.tailStart);
      this.tailStart = 0;
    }
  }

  get hasUnwritten(): boolean {
    return this.revision > this.writtenRevision;
  }

  unwritten(nowMs: number): UnwrittenLog {
    const isHeadNew = this.headBytes > this.writtenHeadBytes;
    return {
      head: isHeadNew ? this.head : '',
      tail: this.isHeadFull ? this.tail.slice(this.tailStart).join('') : '',
      cutLines: this.cutLines,
      cutBytes: this.cutBytes,
      elapsedMs: Math.max(0, nowMs - (this.firstAt ?? nowMs)),
      revision: this.revision,
      headBytes: this.headBytes,
    };
  }

  noteWritten({ revision, headBytes }: UnwrittenLog): void {
    this.writtenRevision = Math.max(this.writtenRevision, revision);
    this.writtenHeadBytes = Math.max(this.writtenHeadBytes, headBytes);
  }

  /** Its row is gone: all is to be written again. */
  noteGone(): void {
    this.segment = null;
    this.writtenRevision = 0;
    this.writtenHeadBytes = 0;
  }
}
