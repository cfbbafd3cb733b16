// Reads SQL as far as mutating it takes: tokens with their places, how deep in brackets they stand, and the clause
// they belong to.
// In: SQL as it stands in the source, and the places of its ${…}. Out: tokens in their order.

const PATTERN =
  /--[^\n]*|\/\*[\s\S]*?\*\/|\s+|'(?:[^']|'')*'|\$\d+|:[a-z_]\w*|[a-z_][\w$]*|\d+(?:\.\d+)?|<>|<=|>=|!=|#>>|->>|->|\|\||::|[=<>+\-*/(),.[\];]|./giy;

/** Words that end a condition, a list or an expression that stands before them at the same depth. */
const CLAUSES = new Set(
  `select from where on having group order limit offset for returning union with as set values then else when
  join left cross inner using insert update delete into over partition filter do conflict lateral window`.split(
    /\s+/,
  ),
);

/**
 * @typedef {{ text: string, start: number, end: number, depth: number, isClause: boolean }} Token
 * @param {string} source
 * @param {number} start where the SQL begins
 * @param {number} end where it ends
 * @param {readonly { start: number, end: number }[]} holes the places of ${…}, which count as one name each
 * @returns {Token[]}
 */
export function tokenize(source, start, end, holes) {
  const tokens = [];
  let depth = 0;
  let place = start;
  while (place < end) {
    const hole = holes.find(each => each.start === place);
    if (hole) {
      tokens.push({ text: '${}', start: place, end: hole.end, depth, isClause: false });
      place = hole.end;
      continue;
    }
    PATTERN.lastIndex = place;
    const text = PATTERN.exec(source)?.[0] ?? source[place];
    // A string or comment may hold a ${…} of its own: then it goes on behind it.
    const inside = holes.find(each => each.start > place && each.start < place + text.length);
    const stop = inside ? endOfQuoted(source, inside.end, text[0], end) : Math.min(place + text.length, end);
    const isSpace = /^(?:\s|--|\/\*)/.test(text);
    const word = text.toLowerCase();
    if (!isSpace) {
      if (word === ')' || word === ']' || word === 'end') depth--;
      tokens.push({ text: inside ? "'…'" : word, start: place, end: stop, depth, isClause: false });
      if (word === '(' || word === '[' || word === 'case') depth++;
    }
    place = stop;
  }
  for (const [index, token] of tokens.entries()) token.isClause = isClause(tokens, index);
  return tokens;
}

function endOfQuoted(source, from, quote, end) {
  if (quote !== "'") return from;
  const close = source.indexOf("'", from);
  return close < 0 || close >= end ? end : close + 1;
}

function isClause(tokens, index) {
  const { text } = tokens[index];
  if (!CLAUSES.has(text)) return false;
  // is distinct from, a cast in extract(… from …), an alias that is called like a word.
  if (text === 'from' && tokens[index - 1]?.text === 'distinct') return false;
  return tokens[index - 1]?.text !== '.';
}

/**
 * The index behind the clause that begins at `from`: the next clause, closing bracket or end of its depth.
 *
 * @param {readonly Token[]} tokens
 * @param {readonly string[]} within words that belong to it, though they begin a clause elsewhere
 */
export function endOfClause(tokens, from, within = []) {
  const { depth } = tokens[from];
  let index = from + 1;
  while (index < tokens.length && tokens[index].depth >= depth) {
    if (tokens[index].depth === depth && tokens[index].isClause && !within.includes(tokens[index].text))
      break;
    index++;
  }
  return index;
}

/** The index behind what stands at the depth of `from` or deeper, up to its closing bracket. */
export function endOfDepth(tokens, from) {
  let index = from;
  while (index < tokens.length && tokens[index].depth >= tokens[from].depth) index++;
  return index;
}

/**
 * Splits tokens at separators of their outermost depth.
 *
 * @param {readonly Token[]} part
 * @param {(token: Token, place: number) => boolean} isSeparator
 * @returns {{ tokens: Token[], before: Token | null }[]} each with the separator before it
 */
export function split(part, isSeparator) {
  const depth = Math.min(...part.map(token => token.depth));
  const pieces = [{ tokens: [], before: null }];
  for (const [place, token] of part.entries()) {
    if (token.depth === depth && isSeparator(token, place)) pieces.push({ tokens: [], before: token });
    else pieces.at(-1).tokens.push(token);
  }
  return pieces.filter(piece => piece.tokens.length > 0);
}
