// All mutants of a file, each with a name that outlives edits elsewhere: the file, the line's text, the change.
// In: a file of the checkout. Out: mutants in the order of the source.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAst } from 'vitest/node';
import { mutantsOfTree, sqlPieces } from './typescript-mutants.mjs';

export const ROOT = path.join(import.meta.dirname, '..', '..');

/**
 * @typedef {object} Mutant
 * @property {string} id eight digits, the same as long as the line and the change are
 * @property {string} file from the root of the checkout
 * @property {number} line
 * @property {string} text the line
 * @property {string} change what becomes what
 * @property {string} operator
 * @property {boolean} isSql whether it is in a piece of SQL
 * @property {number} start
 * @property {number} end
 * @property {string} code the whole file with the change in it
 */

export const readSource = file => readFileSync(path.join(ROOT, file), 'utf8');

const hash = text => createHash('sha256').update(text).digest('hex').slice(0, 8);
const brief = text => text.replace(/\s+/g, ' ').trim();
const shortened = text => (text.length > 70 ? `${text.slice(0, 40)} … ${text.slice(-25)}` : text);

/** @returns {Mutant[]} */
export function mutantsOfFile(file) {
  const source = readSource(file);
  const tree = parseAst(source, { lang: 'ts' });
  const seen = new Set();
  const times = new Map();
  const mutants = [];
  const replacements = mutantsOfTree(tree, source).sort((a, b) => a.start - b.start || a.end - b.end);
  for (const { start, end, to, operator, before, after, isSql = false } of replacements) {
    const place = `${start} ${end} ${to}`;
    const original = source.slice(start, end);
    const code = source.slice(0, start) + (before ? before + original + after : to) + source.slice(end);
    if (seen.has(place) || !isParsed(code)) continue;
    seen.add(place);
    const line = source.slice(0, start).split('\n').length;
    const text = brief(source.split('\n')[line - 1] ?? '');
    const from = brief(original);
    const name = `${file}\n${text}\n${from} → ${to}`;
    // The same change twice in a line.
    const count = (times.get(name) ?? 0) + 1;
    times.set(name, count);
    const change = `${shortened(from)} → ${to === '' ? 'nothing' : to}${count > 1 ? ` (${count})` : ''}`;
    mutants.push({
      id: hash(`${name} ${count}`),
      file,
      line,
      text,
      change,
      operator,
      isSql,
      start,
      end,
      code,
    });
  }
  return mutants;
}

function isParsed(source) {
  try {
    parseAst(source, { lang: 'ts' });
    return true;
  } catch {
    return false;
  }
}

/**
 * The source with a note at each block and each piece of SQL that says when a test gets there: `__reach(n)`, and a
 * comment that the server passes over, which is looked for in what is sent.
 *
 * @returns {{ code: string, sites: { start: number, end: number }[] }}
 */
export function withSites(file, first) {
  const source = readSource(file);
  const tree = parseAst(source, { lang: 'ts' });
  const sites = sqlPieces(tree, source).map(({ start, end }) => ({ start, end, isSql: true }));
  const blocks = [];
  walkBlocks(tree, node => blocks.push(node));
  sites.push(...blocks.map(({ start, end, isExpression }) => ({ start, end, isExpression, isSql: false })));
  const edits = sites.flatMap(({ start, end, isSql, isExpression }, index) => {
    const number = first + index;
    if (isSql) return [{ at: start, text: `/*~${number}~*/ ` }];
    if (!isExpression) return [{ at: start + 1, text: `globalThis.__reach?.(${number});` }];
    return [
      { at: start, text: `(globalThis.__reach?.(${number}), ` },
      { at: end, text: ')', isEnd: true },
    ];
  });
  let code = source;
  for (const { at, text } of edits.sort((a, b) => b.at - a.at || (a.isEnd ? -1 : 1)))
    code = code.slice(0, at) + text + code.slice(at);
  return { code, sites: sites.map(({ start, end }) => ({ start, end })) };
}

function walkBlocks(node, found) {
  if (Array.isArray(node)) for (const each of node) walkBlocks(each, found);
  else if (node && typeof node === 'object') {
    if (node.type === 'BlockStatement') found({ start: node.start, end: node.end, isExpression: false });
    if (node.type === 'ArrowFunctionExpression' && node.body.type !== 'BlockStatement')
      found({ start: node.body.start, end: node.body.end, isExpression: true });
    for (const value of Object.values(node)) walkBlocks(value, found);
  }
}
