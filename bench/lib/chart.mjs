// A result as an SVG: bars with the span of the rounds, or lines. Small; readable on light and dark.
// In: what a measure gives. Out: SVG text.
import { figure } from './measure.mjs';

const WIDTH = 720;
const LABEL = 270;
const VALUE = 110;
const ROW = 26;
const TOP = 44;
const LINES_HEIGHT = 260;

const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; font-size: 14px; }
  .note { font-size: 11px; fill: #57606a; }
  .own { fill: #1f6feb; stroke: #1f6feb; } .other { fill: #8c959f; stroke: #8c959f; } .third { fill: #bf8700; stroke: #bf8700; }
  .span { stroke: #24292f; stroke-width: 1.5; } .axis { stroke: #8c959f; stroke-width: 1; }
  .line { fill: none; stroke-width: 1.5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .note { fill: #9198a1; } .span { stroke: #e6edf3; }
    .own { fill: #58a6ff; stroke: #58a6ff; } .other { fill: #6e7681; stroke: #6e7681; } .third { fill: #d29922; stroke: #d29922; }
    .line { fill: none; }
  }`;

export function chart(result) {
  const rest =
    result.footer ??
    `median and span of ${result.rows[0]?.rounds.length ?? 0} rounds; ${result.better} is better`;
  const footer = `${result.host.cores} cores, PostgreSQL ${result.host.postgres}, Node ${result.host.node.slice(1)}, commit ${result.host.commit}; ${rest}`;
  const draw = result.panels ? panels : result.lines ? lines : bars;
  const [body, height] = draw(result);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height + 24}" role="img" aria-label="${escape(result.title)}">
<title>${escape(result.title)}</title>
<style>${STYLE}
</style>
<text class="title" x="8" y="22">${escape(result.panels ? result.title : `${result.title} (${result.unit})`)}</text>
${body}
<text class="note" x="8" y="${height + 12}">${escape(footer)}</text>
</svg>
`;
}

function bars({ rows, digits = 0, most }) {
  const scale = (WIDTH - LABEL - VALUE) / Math.max(most ?? 0, ...rows.map(row => row.high));
  const x = value => (LABEL + value * scale).toFixed(1);
  const drawn = rows.map((row, index) => {
    const y = TOP + index * ROW;
    const middle = y + ROW / 2 - 3;
    return `<text x="${LABEL - 8}" y="${middle + 4}" text-anchor="end">${escape(row.label)}</text>
<rect class="${row.own ? 'own' : 'other'}" stroke="none" x="${LABEL}" y="${y}" width="${Math.max(1, row.median * scale).toFixed(1)}" height="${ROW - 7}" rx="2"/>
${row.rounds.length > 1 ? `<line class="span" x1="${x(row.low)}" x2="${x(row.high)}" y1="${middle}" y2="${middle}"/>\n` : ''}<text x="${(Number(x(Math.max(row.high, row.median))) + 8).toFixed(1)}" y="${middle + 4}">${figure(row.median, digits)}</text>`;
  });
  return [drawn.join('\n'), TOP + rows.length * ROW + 4];
}

/** Lines that are to be somewhere (`ideal`) have a dashed one there, are of one kind, and are named at their ends. */
function lines({ lines: each, unit, xUnit = 'runs' }) {
  const points = each.flatMap(line => line.points);
  const [mostX, mostY] = [0, 1].map(axis => Math.max(...points.map(point => point[axis])));
  const classes = ['own', 'other', 'third'];
  const hasIdeals = each.every(line => line.ideal !== undefined);
  const [left, right, bottom] = [56, WIDTH - (hasIdeals ? 90 : 16), TOP + LINES_HEIGHT];
  const x = value => (left + (value / mostX) * (right - left)).toFixed(1);
  const y = value => (bottom - (value / mostY) * LINES_HEIGHT).toFixed(1);
  const drawn = each.map((line, index) => {
    const path = line.points.map(([at, value]) => `${x(at)},${y(value)}`).join(' ');
    const kind = hasIdeals ? 'own' : classes[index % classes.length];
    const key = left + 12 + index * 180;
    const label = hasIdeals
      ? `<text x="${right + 8}" y="${Number(y(line.ideal)) + 4}">${escape(line.label)}</text>
<line class="axis" stroke-dasharray="4 4" x1="${left}" x2="${right}" y1="${y(line.ideal)}" y2="${y(line.ideal)}"/>`
      : `<rect class="${kind}" x="${key}" y="${bottom + 26}" width="12" height="4"/><text x="${key + 18}" y="${bottom + 33}">${escape(line.label)}</text>`;
    return `<polyline class="line ${kind}" style="fill:none" points="${path}"/>\n${label}`;
  });
  const axes = `<line class="axis" x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}"/>
<text x="${left - 6}" y="${TOP + 6}" text-anchor="end">${figure(mostY)}</text><text x="${left - 6}" y="${bottom + 4}" text-anchor="end">0</text>
<text x="${right}" y="${bottom + 16}" text-anchor="end">${figure(mostX)} ${xUnit}</text><text x="${left}" y="${bottom + 16}">${escape(unit)}</text>`;
  return [`${axes}\n${drawn.join('\n')}`, bottom + (hasIdeals ? 24 : 44)];
}

const PANEL = { columns: 2, width: 330, height: 92, gap: 34 };

/** Small charts of their own scales over the same minutes, two beside each other; all begin at zero. */
function panels({ panels: each }) {
  const drawn = each.map(({ title, points }, index) => {
    const left = 16 + (index % PANEL.columns) * (PANEL.width + 28);
    const top = TOP + 14 + Math.floor(index / PANEL.columns) * (PANEL.height + PANEL.gap);
    const bottom = top + PANEL.height;
    const [mostX, mostY] = [0, 1].map(axis => Math.max(...points.map(point => point[axis])) || 1);
    const x = value => (left + (value / mostX) * PANEL.width).toFixed(1);
    const y = value => (bottom - (Math.max(0, value) / mostY) * PANEL.height).toFixed(1);
    const path = points.map(([at, value]) => `${x(at)},${y(value)}`).join(' ');
    return `<text x="${left}" y="${top - 6}">${escape(title)}</text>
<text class="note" x="${left + PANEL.width}" y="${top - 6}" text-anchor="end">${figure(mostY, mostY < 10 ? 1 : 0)} at most</text>
<line class="axis" x1="${left}" x2="${left + PANEL.width}" y1="${bottom}" y2="${bottom}"/>
<polyline class="line own" style="fill:none" points="${path}"/>
<text class="note" x="${left + PANEL.width}" y="${bottom + 12}" text-anchor="end">${figure(mostX)} min</text>`;
  });
  const rows = Math.ceil(each.length / PANEL.columns);
  return [drawn.join('\n'), TOP + 14 + rows * (PANEL.height + PANEL.gap)];
}

function escape(text) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
