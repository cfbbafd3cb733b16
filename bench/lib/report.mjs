// What is said while it works, and the tables at the end.
import { table } from '../figures.mjs';
import { figure } from './measure.mjs';

/** Speaks on standard output; on standard error where that is for JSON. A terminal gets a bar. */
export function createVoice(isJson) {
  const stream = isJson ? process.stderr : process.stdout;
  const line = text => stream.write(`${text}\n`);
  return {
    line,
    title: text => line(`\n${text}`),
    progress(done, total, text) {
      const width = 24;
      const filled = Math.round((done / total) * width);
      line(
        `  ${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${String(done).padStart(3)}/${total}  ${text}`,
      );
    },
  };
}

/**
 * One line per variant: median, lowest and highest of the rounds, and how many times ours it is. Or the measure's
 * own tables.
 */
export function resultTable({ rows, unit, digits = 0, notes = [], ratioTitle = 'beside ours', tables }) {
  if (tables) return ['', tables(), ...notes.map(note => `  ${note}`)].join('\n');
  const hasRatio = rows.some(row => row.ratio !== undefined);
  const extra = [...new Set(rows.flatMap(row => Object.keys(row.extra ?? {})))];
  const text = table(
    ['', unit, 'lowest – highest', ...(hasRatio ? [ratioTitle] : []), ...extra],
    rows.map(row => [
      row.label,
      figure(row.median, row.digits ?? digits),
      `${figure(row.low, row.digits ?? digits)} – ${figure(row.high, row.digits ?? digits)}`,
      ...(hasRatio ? [row.ratio === undefined ? '' : `${row.ratio.toFixed(2)} x`] : []),
      ...extra.map(name => row.extra?.[name] ?? ''),
    ]),
  );
  return ['', text, ...notes.map(note => `  ${note}`)].join('\n');
}
