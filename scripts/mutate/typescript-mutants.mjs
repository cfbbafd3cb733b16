// Mutants of TypeScript: conditions decided, comparisons shifted, statements left out.
// In: a syntax tree. Out: replacements of parts of the source, each named by its operator; and the pieces of SQL in it.
import { isSql, sqlMutants } from './sql-mutants.mjs';
import { tokenize } from './sql-tokens.mjs';

/** @typedef {import('./sql-mutants.mjs').Replacement} Replacement */

const SWAPPED = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '**': '*',
  '&&': '||',
  '||': '&&',
  '+=': '-=',
  '-=': '+=',
  '||=': '&&=',
  '??=': '=',
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
};
/** Calls that give back what they are called on, or something like it. */
const TRANSPARENT = new Set(['sort', 'toSorted', 'filter', 'slice', 'reverse', 'trim', 'catch', 'finally']);

/**
 * Visits every node, from outside to inside. Types are passed over.
 *
 * @param {any} node
 * @param {(node: any, parent: any) => void} visit
 */
export function walk(node, visit, parent = null) {
  if (Array.isArray(node)) {
    for (const each of node) walk(each, visit, parent);
    return;
  }
  if (node === null || typeof node !== 'object' || typeof node.type !== 'string') return;
  const isType = node.type.startsWith('TS');
  if (isType && !['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'].includes(node.type))
    return;
  if (!isType) visit(node, parent);
  for (const [key, value] of Object.entries(node))
    if (key !== 'typeAnnotation' && key !== 'typeArguments') walk(value, visit, isType ? parent : node);
}

/** The pieces of SQL in a tree: where each begins and ends, and its holes. */
export function sqlPieces(tree, source) {
  const pieces = [];
  walk(tree, (node, parent) => {
    const isMessage = parent?.type === 'NewExpression' || parent?.type === 'ImportDeclaration';
    if (isMessage || !isSql(source.slice(node.start, node.end))) return;
    if (node.type === 'TemplateLiteral') pieces.push({ ...inner(node), holes: holesOf(node) });
    if (node.type === 'Literal' && typeof node.value === 'string') pieces.push({ ...inner(node), holes: [] });
  });
  return pieces;
}

const inner = node => ({ start: node.start + 1, end: node.end - 1 });
const holesOf = node =>
  node.expressions.map((_, index) => ({
    // The text around a hole does not hold its ${ and }.
    start: node.quasis[index].end,
    end: node.quasis[index + 1].start,
  }));

/** @returns {Replacement[]} */
export function mutantsOfTree(tree, source) {
  const found = sqlPieces(tree, source).flatMap(({ start, end, holes }) =>
    sqlMutants(tokenize(source, start, end, holes)).map(each => ({ ...each, isSql: true })),
  );
  walk(tree, (node, parent) => found.push(...mutantsOf(node, parent, source)));
  return found;
}

function mutantsOf(node, parent, source) {
  const whole = (to, operator) => [{ start: node.start, end: node.end, to, operator }];
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return decided(node.test, ['true', 'false']);
    case 'WhileStatement':
      return decided(node.test, ['false']);
    case 'BinaryExpression':
      if (isTest(node, parent) && ['===', '!=='].includes(node.operator)) return [];
      return isText(node.left) || isText(node.right) ? [] : operatorSwapped(node, source);
    case 'AssignmentExpression':
      return operatorSwapped(node, source);
    case 'LogicalExpression':
      return node.operator === '??'
        ? [
            {
              start: node.left.end,
              end: node.right.end,
              to: closed(source, node.left.end, node.right.start),
              operator: 'default dropped',
            },
          ]
        : operatorSwapped(node, source);
    case 'UnaryExpression':
      return node.operator === '!' && !isTest(node, parent)
        ? [{ start: node.start, end: node.argument.start, to: '', operator: 'negation' }]
        : [];
    case 'UpdateExpression':
      return whole(
        source.slice(node.start, node.end).replace(/\+\+|--/, text => (text === '++' ? '--' : '++')),
        'arithmetic',
      );
    case 'ExpressionStatement':
      return removable(node.expression) ? whole(';', 'statement removed') : [];
    case 'ThrowStatement':
    case 'BreakStatement':
    case 'ContinueStatement':
      return whole(';', 'statement removed');
    case 'ReturnStatement':
      return node.argument === null ? whole(';', 'statement removed') : [];
    case 'Literal':
      return literal(node, parent, whole);
    case 'ArrayExpression':
      return node.elements.length > 1 && node.elements.every(each => each?.type === 'Literal')
        ? [
            {
              start: node.elements.at(-2).end,
              end: node.elements.at(-1).end,
              to: '',
              operator: 'element dropped',
            },
          ]
        : [];
    case 'CallExpression':
      return calls(node, source);
    default:
      return [];
  }
}

/** A whole test is decided both ways already: to turn it round is found out by whatever finds out one of these. */
const isTest = (node, parent) => parent?.test === node && parent.type !== 'ForStatement';

const decided = (test, values) =>
  test.type === 'Literal'
    ? []
    : values.map(to => ({ start: test.start, end: test.end, to, operator: 'condition decided' }));

function operatorSwapped(node, source) {
  const to = SWAPPED[node.operator];
  if (to === undefined) return [];
  const start = source.indexOf(node.operator, node.left.end);
  return [{ start, end: start + node.operator.length, to, operator: 'operator' }];
}

const isText = node =>
  node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');

/** A log line that is missing is no fault in what is stored: `debug` and `info` are left out. */
function removable(expression) {
  if (expression.type === 'Literal') return false;
  const call = expression.type === 'CallExpression' ? expression.callee : null;
  return !['debug', 'info'].includes(call?.property?.name);
}

function literal(node, parent, whole) {
  if (parent?.type === 'ImportDeclaration' || parent?.type === 'ExportNamedDeclaration') return [];
  if (typeof node.value === 'number') return whole(String(node.value + 1), 'number');
  if (typeof node.value === 'boolean') return whole(String(!node.value), 'boolean');
  return [];
}

function calls(node, source) {
  const { callee } = node;
  if (callee.type !== 'MemberExpression' || callee.computed) return [];
  const { name } = callee.property;
  if (['some', 'every', 'min', 'max', 'floor', 'ceil'].includes(name))
    return [
      { start: callee.property.start, end: callee.property.end, to: SWAPPED[name], operator: 'call swapped' },
    ];
  if (TRANSPARENT.has(name))
    return [
      {
        start: callee.object.end,
        end: node.end,
        to: closed(source, callee.object.end, callee.property.start),
        operator: 'call dropped',
      },
    ];
  return [];
}

/** The brackets that close between two places: what stands before them needs them still. */
const closed = (source, from, to) => source.slice(from, to).replace(/[^)]/g, '');
