// Tables: boxes in a terminal, aligned plain text in a pipe.
import { type Colour, cleanLine, cut, cutStart, paint, terminalWidth, widthOf } from '../terminal.js';

export interface Column {
  readonly title: string;
  readonly align?: 'right';
  readonly flexible?: boolean;
  /** Left out in a terminal where the others would not fit; the last such column first. */
  readonly optional?: true;
  /** Cut at its beginning: of a time, the date goes first. */
  readonly keepsEnd?: true;
}

export type Cell = string | { readonly text: string; readonly colour: Colour | null };

const MIN_WIDTH = 6;
/** Of a flexible column beside one that could be left out. */
const GOOD_WIDTH = 12;

/** Columns without any text are left out. @param terminal its columns; null: nothing is cut */
export async function drawTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  terminal = terminalWidth(),
): Promise<string> {
  const texts = rows.map(row => columns.map((_, index) => cleanLine(textOf(row[index]))));
  const filled = columns.map((_, index) => index).filter(index => texts.some(row => row[index] !== ''));
  const widthIn = (index: number) =>
    Math.max(widthOf(columns[index]?.title ?? ''), ...texts.map(row => widthOf(row[index] ?? '')));
  const used = terminal === null ? filled : withoutOptional(columns, filled, widthIn, terminal);
  const shown = used.flatMap(index => columns[index] ?? []);
  const cells = texts.map((row, line) =>
    used.map(index => ({ text: row[index] ?? '', colour: colourOf(rows[line]?.[index]) })),
  );
  const natural = shown.map((column, index) =>
    Math.max(widthOf(column.title), ...cells.map(row => widthOf(row[index]?.text ?? ''))),
  );
  if (terminal === null) return plain(shown, cells, natural);
  const widths = fit(shown, natural, terminal - 3 * shown.length - 1);
  return await boxed(shown, cells, widths);
}

/** The columns of the table, fewer than `filled` if they would not fit otherwise. */
function withoutOptional(
  columns: readonly Column[],
  filled: readonly number[],
  widthIn: (index: number) => number,
  terminal: number,
): readonly number[] {
  const needed = (indexes: readonly number[]) =>
    indexes
      .map(index => (columns[index]?.flexible ? Math.min(widthIn(index), GOOD_WIDTH) : widthIn(index)))
      .reduce((sum, width) => sum + width + 3, 1);
  let used = filled;
  while (needed(used) > terminal) {
    const last = used.findLast(index => columns[index]?.optional);
    if (last === undefined) return used;
    used = used.filter(index => index !== last);
  }
  return used;
}

interface Painted {
  readonly text: string;
  readonly colour: Colour | null;
}

function textOf(cell: Cell | undefined): string {
  return typeof cell === 'string' ? cell : (cell?.text ?? '');
}

function colourOf(cell: Cell | undefined): Colour | null {
  return typeof cell === 'object' ? cell.colour : null;
}

function plain(
  columns: readonly Column[],
  rows: readonly (readonly Painted[])[],
  widths: readonly number[],
): string {
  const line = (cells: readonly Painted[]) =>
    cells
      .map(({ text, colour }, index) => {
        const space = ' '.repeat(Math.max((widths[index] ?? 0) - widthOf(text), 0));
        const painted = paint(colour, text);
        if (columns[index]?.align === 'right') return space + painted;
        return index === cells.length - 1 ? painted : painted + space;
      })
      .join('  ')
      .trimEnd();
  return [columns.map(({ title }): Painted => ({ text: title, colour: 'bold' })), ...rows]
    .map(line)
    .join('\n');
}

async function boxed(
  columns: readonly Column[],
  rows: readonly (readonly Painted[])[],
  widths: readonly number[],
): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const table = new Table({
    head: columns.map(({ title }, index) => paint('bold', cut(title, widths[index] ?? 0))),
    colAligns: columns.map(({ align }) => align ?? 'left'),
    colWidths: widths.map(width => width + 2),
    // Colours are ours: cli-table3 knows neither NO_COLOR nor FORCE_COLOR.
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) {
    table.push(
      row.map(({ text, colour }, index) => {
        const cutTo = columns[index]?.keepsEnd ? cutStart : cut;
        return paint(colour, cutTo(text, widths[index] ?? 0));
      }),
    );
  }
  return table.toString();
}

/** Narrows the widest flexible column until the table fits; then, if necessary, any column. */
function fit(columns: readonly Column[], natural: readonly number[], room: number): number[] {
  const widths = [...natural];
  const shrink = (may: (index: number) => boolean) => {
    for (;;) {
      const over = widths.reduce((sum, width) => sum + width, 0) - room;
      const candidates = widths.flatMap((width, index) => (may(index) && width > MIN_WIDTH ? [width] : []));
      if (over <= 0 || candidates.length === 0) return;
      const widest = widths.findIndex((width, index) => may(index) && width === Math.max(...candidates));
      widths[widest] = (widths[widest] ?? 0) - 1;
    }
  };
  shrink(index => columns[index]?.flexible === true);
  shrink(() => true);
  return widths;
}
