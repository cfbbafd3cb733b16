// Draws recorded terminals as one SVG that plays by itself and rests at its end, or as one that shows the end only.
import { watchLines } from './watch-lines.mjs';

const FONT = 13;
const CELL = { width: 7.8, height: 18 };
const BAR = 30;
const PADDING = { x: 16, y: 10 };
const GAP = 10;
const PLAYS = 2;

/** On a dark ground; each has a contrast of 4.5 at least. */
const COLOURS = {
  ground: '#0d1117',
  bar: '#161b22',
  edge: '#30363d',
  text: '#e6edf3',
  dim: '#8b949e',
  c1: '#ff7b72',
  c2: '#56d364',
  c3: '#e3b341',
  c4: '#79c0ff',
  c5: '#d2a8ff',
  c6: '#56d4dd',
  c7: '#e6edf3',
  c8: '#8b949e',
};

/**
 * @param panes `{ title, columns, rows, frames }`, from top to bottom
 * @param about `{ title, description, lengthMs }`; and `isStill`, for those who want nothing to move
 */
export async function drawRecording(panes, { title, description, lengthMs, isStill = false }) {
  const moments = new Moments(lengthMs, isStill);
  const width = 2 * PADDING.x + Math.max(...panes.map(({ columns }) => columns)) * CELL.width;
  let top = 0.5;
  const drawn = [];
  for (const pane of panes) {
    const height = BAR + 2 * PADDING.y + pane.rows * CELL.height;
    drawn.push(await drawPane(pane, { top, width, height, moments }));
    top += height + GAP;
  }
  const size = `${round(width + 1)} ${round(top - GAP + 0.5)}`;
  const [w, h] = size.split(' ');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size}" width="${w}" height="${h}" role="img" xml:space="preserve">
<title>${escaped(title)}</title>
<desc>${escaped(description)}</desc>
<style>
${styles()}
${moments.css()}
@media (prefers-reduced-motion: reduce) { * { animation: none !important } }
</style>
${drawn.join('\n')}
</svg>
`;
}

async function drawPane({ title, columns, rows, frames }, { top, width, height, moments }) {
  const { states, tops, cursors } = await watchLines({ columns, rows, frames });
  const byTime = new Map();
  for (const state of states) {
    if (moments.isStill && state.to !== null) continue;
    const time = moments.shown(state.from, state.to);
    byTime.set(time, [...(byTime.get(time) ?? []), ...state.spans.map(span => textOf(span, state.line))]);
  }
  const lines = [...byTime].map(([time, texts]) => `<g${classOf(time)}>${texts.join('')}</g>`);
  const roll = moments.moved(tops, line => `translateY(${round(-line * CELL.height)}px)`);
  const cursor = moments.moved(
    cursors,
    ([column, line]) => `translate(${round(column * CELL.width)}px,${round(line * CELL.height)}px)`,
  );
  const dots = [18, 36, 54].map(x => `<circle cx="${x}" cy="${BAR / 2}" r="5.5"/>`).join('');
  return `<svg x="0.5" y="${round(top)}" width="${round(width)}" height="${round(height)}">
<rect class="ground" x="0.5" y="0.5" width="${round(width - 1)}" height="${round(height - 1)}" rx="8"/>
<path class="bar" d="M1 ${BAR}V8.5a7.5 7.5 0 0 1 7.5-7.5H${round(width - 8.5)}a7.5 7.5 0 0 1 7.5 7.5V${BAR}z"/>
<g class="dots">${dots}</g><text class="title" x="${round(width / 2)}" y="${BAR / 2 + 4.5}">${escaped(title)}</text>
<svg x="${PADDING.x}" y="${BAR + PADDING.y}" width="${round(width - PADDING.x)}" height="${round(rows * CELL.height)}">
<g${classOf(roll)}>
${lines.join('\n')}
<rect class="cursor ${cursor}" width="${CELL.width}" height="${CELL.height - 2}"/>
</g></svg></svg>`;
}

const classOf = name => (name === '' ? '' : ` class="${name}"`);

function textOf({ column, width, look, text }, line) {
  const x = round(column * CELL.width);
  const y = round(line * CELL.height + 13);
  // Whatever font it is, the columns stand where they stood.
  return `<text${classOf(look)} x="${x}" y="${y}" textLength="${round(width * CELL.width)}">${escaped(text)}</text>`;
}

/** When something is shown, and where it is, as key frames of CSS. What CSS says without them is the end. */
class Moments {
  #lengthMs;
  #rules = new Map();
  constructor(lengthMs, isStill) {
    this.#lengthMs = lengthMs;
    this.isStill = isStill;
  }

  /** The class of what is there from a time to another; empty for what is always there. @param to null: to the end */
  shown(from, to) {
    if ((from <= 0 || this.isStill) && to === null) return '';
    const hidden = '{visibility:hidden}';
    const visible = '{visibility:visible}';
    const frames = [
      ...(from <= 0 ? [] : [`0%${hidden}`]),
      `${this.#percent(from)}${visible}`,
      ...(to === null ? [] : [`${this.#percent(to)}${hidden}`]),
    ];
    return this.#add(frames.join(''), to === null ? '' : 'visibility:hidden');
  }

  /** @param changes `{ at, value }`; @param transform of a value */
  moved(changes, transform) {
    const [first, ...others] = changes;
    const frames = [
      `0%{transform:${transform(first.value)}}`,
      ...others.map(({ at, value }) => `${this.#percent(at)}{transform:${transform(value)}}`),
    ];
    return this.#add(frames.join(''), `transform:${transform(changes.at(-1).value)}`);
  }

  css() {
    const seconds = (this.#lengthMs / 1000).toFixed(1);
    const rules = [...this.#rules].map(([frames, { name, end }]) => {
      if (this.isStill) return `.${name}{${end}}`;
      const played = `animation:${name} ${seconds}s step-end ${PLAYS}`;
      return `.${name}{${end === '' ? '' : `${end};`}${played}}@keyframes ${name}{${frames}}`;
    });
    return rules.join('\n');
  }

  #add(frames, end) {
    const known = this.#rules.get(frames);
    if (known !== undefined) return known.name;
    const name = `m${this.#rules.size}`;
    this.#rules.set(frames, { name, end });
    return name;
  }

  #percent(at) {
    return `${Number(((100 * at) / this.#lengthMs).toFixed(2))}%`;
  }
}

function styles() {
  const { ground, bar, edge, text, dim, ...palette } = COLOURS;
  return [
    `text{fill:${text};font:${FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;white-space:pre}`,
    ...Object.entries(palette).map(([name, colour]) => `.${name}{fill:${colour}}`),
    `.d{fill:${dim}}.b{font-weight:700}`,
    `.ground{fill:${ground};stroke:${edge}}.bar{fill:${bar}}.dots{fill:${edge}}`,
    `.title{fill:${dim};text-anchor:middle;font-size:12px}`,
    `.cursor{fill:${text};opacity:.55}`,
  ].join('\n');
}

const round = number => Number(number.toFixed(1));

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
