// What a terminal shows over time, line by line: @xterm/headless reads what the terminal was sent.
import xterm from '@xterm/headless';

const SCROLLBACK = 1000;

/**
 * @param frames `{ at, text }`, the times growing
 * @returns each state of each line with its time (`to` is null for those that are there at the end), which line is the
 *   uppermost, and where the cursor is
 */
export async function watchLines({ columns, rows, frames }) {
  const terminal = new xterm.Terminal({
    cols: columns,
    rows,
    scrollback: SCROLLBACK,
    allowProposedApi: true,
  });
  const states = [];
  const now = new Map();
  const tops = [];
  const cursors = [];
  for (const { at, text } of frames) {
    await new Promise(resolve => terminal.write(text, resolve));
    const { active } = terminal.buffer;
    for (let line = 0; line < active.length; line++) {
      const spans = spansOf(active.getLine(line), columns);
      const known = now.get(line) ?? { spans: [], from: 0 };
      if (JSON.stringify(known.spans) === JSON.stringify(spans)) continue;
      if (known.spans.length > 0 && known.from < at) states.push({ line, ...known, to: at });
      now.set(line, { spans, from: at });
    }
    addChange(tops, at, active.baseY);
    addChange(cursors, at, [active.cursorX, active.baseY + active.cursorY]);
  }
  for (const [line, state] of now) if (state.spans.length > 0) states.push({ line, ...state, to: null });
  terminal.dispose();
  return { states, tops, cursors };
}

function addChange(changes, at, value) {
  const last = changes.at(-1);
  if (last !== undefined && String(last.value) === String(value)) return;
  if (last?.at === at) last.value = value;
  else changes.push({ at, value });
}

/** Texts of one look, with the columns that they take; empty for an empty line. */
function spansOf(line, columns) {
  const spans = [];
  for (let column = 0; column < columns; column++) {
    const cell = line.getCell(column);
    const width = cell.getWidth();
    // The second half of a wide character.
    if (width === 0) continue;
    const look = lookOf(cell);
    const text = cell.getChars() || ' ';
    const last = spans.at(-1);
    if (last?.look === look) {
      last.text += text;
      last.width += width;
    } else spans.push({ column, width, look, text });
  }
  return spans.filter(({ text }) => text.trim() !== '').map(trimmed);
}

function trimmed({ column, width, look, text }) {
  const before = text.length - text.trimStart().length;
  const after = text.length - text.trimEnd().length;
  return { column: column + before, width: width - before - after, look, text: text.trim() };
}

/** Classes: `c2` for the second colour, `b` for bold, `d` for dim. */
function lookOf(cell) {
  const colour = cell.isFgPalette() ? `c${cell.getFgColor()}` : '';
  return [colour, cell.isBold() ? 'b' : '', cell.isDim() ? 'd' : ''].filter(each => each !== '').join(' ');
}
