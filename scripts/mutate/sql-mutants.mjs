// Mutants of SQL: conditions left out or turned round, locks and orders dropped, arithmetic off by one.
// In: the tokens of one piece of SQL. Out: replacements of parts of the source, each named by its operator.
import { endOfClause, endOfDepth, split } from './sql-tokens.mjs';

/** @typedef {import('./sql-tokens.mjs').Token} Token */
/**
 * What comes in place of a part of the source; with `before` and `after`, what comes around it, and `to` says what that
 * amounts to.
 *
 * @typedef {{ start: number, end: number, to: string, operator: string, before?: string, after?: string }} Replacement
 */

/** Whether text in quotes is SQL, whole or in part, and not a message. */
export function isSql(text) {
  // A name alone, such as 'tock.cancel', is none.
  return (
    /[\s(]/.test(text) &&
    /\b(?:select|update tock|delete from|insert into|coalesce\(|exists \(|jsonb_\w+\(|tock\.\w+|[rqlo]\.\w+ |as materialized|and r\.)|[\w)]::\w+/.test(
      text,
    )
  );
}

/**
 * @param {readonly Token[]} tokens
 * @returns {Replacement[]}
 */
export function sqlMutants(tokens) {
  return withoutSubsumed([
    ...conditions(tokens),
    ...tokens.flatMap((token, index) => wordMutants(tokens, token, index).map(each => ({ ...each, token }))),
    ...tokens.flatMap((token, index) => clauseMutants(tokens, token, index)),
  ]).map(({ operand: _operand, token: _token, ...each }) => each);
}

const over = (tokens, to, operator) =>
  tokens.length === 0 ? [] : [{ start: tokens[0].start, end: tokens.at(-1).end, to, operator }];

/** A condition without its effect. It stays where it is, lest a parameter be left over that nothing gives a type. */
const decided = (tokens, to, operator) =>
  over(tokens, to, operator).map(each => ({
    ...each,
    before: to === 'true' ? '(true or ' : '(false and ',
    after: ')',
  }));

/** Parts between clauses, commas and brackets in which `and` and `or` join conditions. */
function conditions(tokens) {
  const found = [];
  for (let from = 0; from < tokens.length; from++) {
    const before = tokens[from - 1];
    const { depth } = tokens[from];
    const begins =
      before === undefined ||
      before.depth < depth ||
      before.text === ',' ||
      (before.isClause && before.depth === depth);
    if (!begins || tokens[from].isClause) continue;
    if (before?.text === 'when' && isValueOf(tokens, from - 1)) continue;
    let to = from;
    while (
      to < tokens.length &&
      tokens[to].depth >= depth &&
      !(tokens[to].depth === depth && (tokens[to].isClause || tokens[to].text === ','))
    )
      to++;
    found.push(...conditionMutants(tokens.slice(from, to), before?.isClause ? before.text : ''));
  }
  return found;
}

/** Whether a `when` stands for a value: `case x when 1 then`. */
function isValueOf(tokens, when) {
  const start = tokens.findLastIndex(
    (each, place) => place < when && each.text === 'case' && each.depth === tokens[when].depth - 1,
  );
  return tokens[start + 1]?.text !== 'when';
}

function conditionMutants(part, clause) {
  let isBetween = false;
  const operands = split(part, ({ text }) => {
    if (text === 'between') isBetween = true;
    if (text !== 'and' && text !== 'or') return false;
    const isJoin = !isBetween;
    isBetween = false;
    return isJoin;
  });
  const isCondition = ['where', 'having', 'when', 'on'].includes(clause) && part[0]?.text !== 'conflict';
  if (operands.length < 2 && !isCondition) return [];
  const mutants = operands.flatMap(({ tokens, before }, place) => {
    const joint = before?.text ?? operands[place + 1]?.before?.text ?? 'and';
    const neutral = joint === 'or' ? 'false' : 'true';
    const isNeutral = tokens.length === 1 && tokens[0].text === neutral;
    return isNeutral
      ? []
      : decided(tokens, neutral, 'condition dropped').map(each => ({ ...each, operand: tokens }));
  });
  const nothing = ['where', 'when'].includes(clause) ? decided(part, 'false', 'never') : [];
  return [...mutants, ...nothing];
}

/**
 * A whole condition that is turned round is found out by whatever finds out that it is missing; so would `or` be for
 * `and`. Such mutants only raise the score.
 */
function withoutSubsumed(mutants) {
  const operands = mutants.flatMap(({ operand }) => (operand ? [operand] : []));
  const isWhole = ({ token, operator }) =>
    ['negation', 'equality'].includes(operator) &&
    operands.some(
      operand =>
        operand.includes(token) &&
        operand.every(each => each.depth >= token.depth) &&
        !hasJoint(operand, token),
    );
  return mutants.filter(each => !isWhole(each));
}

const hasJoint = (operand, { depth }) =>
  operand.some(each => each.depth === depth && ['and', 'or', 'when'].includes(each.text));

const SWAPPED = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  least: 'greatest',
  greatest: 'least',
  min: 'max',
  max: 'min',
  true: 'false',
  false: 'true',
};

function wordMutants(tokens, token, index) {
  const { text } = token;
  const before = tokens[index - 1]?.text ?? '';
  const after = tokens[index + 1]?.text ?? '';
  if (text === '<>') return over([token], '=', 'equality');
  if (text === '=') return isAssignment(tokens, index) ? [] : over([token], '<>', 'equality');
  if (/^\d/.test(text)) return over([token], String(Number(text) + 1), 'number');
  if (['+', '-', '*', '/'].includes(text)) {
    const isBinary = /^(?:[\w$')\]]|:\w|\$\{\})/.test(before) && !tokens[index - 1].isClause && after !== ')';
    return isBinary && before !== 'distinct' ? over([token], SWAPPED[text], 'arithmetic') : [];
  }
  if (['least', 'greatest', 'min', 'max'].includes(text))
    return after === '(' ? over([token], SWAPPED[text], 'least, greatest') : [];
  if (text in SWAPPED) return over([token], SWAPPED[text], 'comparison');
  if (text === 'exists' && after === '(' && before !== 'not') return over([token], 'not exists', 'negation');
  if (text === 'not' && ['exists', 'in', 'like', 'is_last'].includes(after))
    return over([token], '', 'negation');
  if (text === 'in' && after === '(' && before !== 'not') return over([token], 'not in', 'negation');
  if (text === 'is' && after === 'null') return over([token], 'is not', 'negation');
  if (text === 'is' && after === 'not') return over(tokens.slice(index, index + 2), 'is', 'negation');
  if (text === 'is' && after === 'distinct')
    return over(tokens.slice(index, index + 2), 'is not distinct', 'negation');
  return [];
}

/** `=` behind `set`: no comparison. */
function isAssignment(tokens, index) {
  const { depth } = tokens[index];
  for (let place = index - 1; place >= 0 && tokens[place].depth >= depth; place--) {
    if (tokens[place].depth !== depth) continue;
    if (tokens[place].text === 'set') return true;
    if (tokens[place].isClause || tokens[place].text === '=') return false;
    if (tokens[place].text === ',') return isListOfSet(tokens, place);
  }
  return isListOfAssignments(tokens, depth);
}

function isListOfSet(tokens, comma) {
  const { depth } = tokens[comma];
  for (let place = comma - 1; place >= 0 && tokens[place].depth >= depth; place--)
    if (tokens[place].depth === depth && tokens[place].isClause) return tokens[place].text === 'set';
  return isListOfAssignments(tokens, depth);
}

/** A fragment that is nothing but assignments. */
const isListOfAssignments = (tokens, depth) =>
  tokens[1]?.text === '=' &&
  tokens[0].depth === depth &&
  tokens.some(each => each.depth === depth && each.text === ',') &&
  !tokens.some(each => each.depth === depth && ['and', 'or'].includes(each.text));

function clauseMutants(tokens, token, index) {
  const words = (count, from = index) =>
    tokens
      .slice(from, from + count)
      .map(each => each.text)
      .join(' ');
  const until = (end, from = index) => tokens.slice(from, end);
  switch (token.text) {
    case 'order':
      return words(2) === 'order by' ? over(until(endOfClause(tokens, index)), '', 'order by dropped') : [];
    case 'desc':
      return over([token], '', 'order turned');
    case 'limit':
      return token.isClause ? over(until(endOfClause(tokens, index)), '', 'limit dropped') : [];
    case 'for':
      return /^for (?:update|share|key share|no key)/.test(words(3))
        ? over(until(endOfClause(tokens, index, ['update'])), '', 'lock dropped')
        : [];
    case 'skip':
      return words(2) === 'skip locked' ? over(until(index + 2), '', 'skip locked dropped') : [];
    case 'as':
      return words(2) === 'as materialized' ? over(until(index + 2), 'as', 'materialized dropped') : [];
    case 'on':
      return words(2) === 'on conflict'
        ? over(
            until(endOfClause(tokens, index, ['conflict', 'do', 'update', 'set', 'where'])),
            '',
            'on conflict dropped',
          )
        : [];
    case 'distinct':
      return tokens[index - 1]?.text === 'is' || tokens[index - 1]?.text === 'not'
        ? []
        : over([token], '', 'distinct dropped');
    case 'left':
      return words(2) === 'left join' ? over([token], '', 'left join') : [];
    case 'union':
      return over(until(endOfDepth(tokens, index)), '', 'union dropped');
    case 'coalesce':
      return lastArgument(tokens, index);
    case 'set':
      return assignments(tokens, index);
    default:
      return [];
  }
}

function lastArgument(tokens, index) {
  if (tokens[index + 1]?.text !== '(') return [];
  const inside = tokens.slice(index + 2, endOfDepth(tokens, index + 2));
  const last = split(inside, each => each.text === ',').at(-1);
  return last?.before ? over([last.before, ...last.tokens], '', 'default dropped') : [];
}

function assignments(tokens, index) {
  const part = tokens.slice(index + 1, endOfClause(tokens, index));
  if (part.length === 0) return [];
  const pieces = split(part, each => each.text === ',');
  if (pieces.length < 2) return [];
  return pieces.flatMap(({ tokens: own, before }, place) => {
    const next = pieces[place + 1]?.before;
    return over(before ? [before, ...own] : [...own, ...(next ? [next] : [])], '', 'assignment dropped');
  });
}
