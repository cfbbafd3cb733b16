// The marked block with the line that ticks, in a user's crontab. One block for each project folder.
import { TockError } from '../errors.js';

const MARKER = /^# (BEGIN|END) tock(?: (.*))?$/;

interface Block {
  /** Of the line with BEGIN, from 0. */
  readonly start: number;
  /** Of the line with END. */
  readonly end: number;
  readonly folder: string;
}

/** The block of a folder, without its markers; null: there is none. @throws TockError TOCK_BAD_STATE */
export function readBlock(crontab: string, folder: string): string[] | null {
  const lines = crontab.split('\n');
  const block = findBlocks(lines).find(each => each.folder === folder);
  return block === undefined ? null : lines.slice(block.start + 1, block.end);
}

/**
 * The crontab with this block, in the place of the folder's block or at the end. All other lines stay as they
 * are.
 * @throws TockError TOCK_BAD_STATE for damaged markers
 */
export function withBlock(crontab: string, folder: string, content: readonly string[]): string {
  checkFolder(folder);
  const lines = crontab.split('\n');
  const block = findBlocks(lines).find(each => each.folder === folder);
  const written = [`# BEGIN tock ${folder}`, ...content, `# END tock ${folder}`];
  if (block !== undefined)
    return [...lines.slice(0, block.start), ...written, ...lines.slice(block.end + 1)].join('\n');
  const ended = crontab === '' || crontab.endsWith('\n') ? crontab : `${crontab}\n`;
  return `${ended}${written.join('\n')}\n`;
}

/** The crontab without the block of the folder. @throws TockError TOCK_BAD_STATE for damaged markers */
export function withoutBlock(crontab: string, folder: string): string {
  const lines = crontab.split('\n');
  const block = findBlocks(lines).find(each => each.folder === folder);
  if (block === undefined) return crontab;
  return [...lines.slice(0, block.start), ...lines.slice(block.end + 1)].join('\n');
}

function checkFolder(folder: string): void {
  if (/[\r\n]/.test(folder))
    throw new TockError(
      'TOCK_BAD_STATE',
      'the folder has a line end in its name, which no crontab can hold; rename it',
    );
}

function findBlocks(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let open: { start: number; folder: string } | null = null;
  for (const [index, line] of lines.entries()) {
    const [, word, folder = ''] = MARKER.exec(line) ?? [];
    if (word === undefined) continue;
    if (word === 'BEGIN') {
      if (open !== null) throw damaged(index, `begins a block inside the one of line ${open.start + 1}`);
      if (blocks.some(block => block.folder === folder))
        throw damaged(index, `begins a second block of ${folder}`);
      open = { start: index, folder };
    } else {
      if (open === null) throw damaged(index, 'ends a block that has no beginning');
      if (open.folder !== folder) throw damaged(index, `does not end the block of line ${open.start + 1}`);
      blocks.push({ start: open.start, end: index, folder });
      open = null;
    }
  }
  if (open !== null) throw damaged(open.start, 'begins a block that has no end');
  return blocks;
}

function damaged(index: number, what: string): TockError {
  return new TockError(
    'TOCK_BAD_STATE',
    `line ${index + 1} of the crontab ${what}: correct the lines # BEGIN tock and # END tock by hand (crontab -e); nothing was changed`,
  );
}
