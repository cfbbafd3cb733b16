// Which modules a source file names.
import { describe, expect, it } from 'vitest';
import { importsIn } from '../../../src/model/watch/imports-in.js';

describe('importsIn', () => {
  it.each([
    [`import { a } from './a.js';`, ['./a.js']],
    [`import './b.css';\nimport type { B } from "./b.js";`, ['./b.css', './b.js']],
    [`export * from './c.js';\nexport { c } from './c.js';`, ['./c.js']],
    ['import {\n  d,\n} from "../d/index.ts";', ['../d/index.ts']],
    [`const { e } = require('./e');`, ['./e']],
    ["run: async () => (await import('./late.js')).run(`x`),", ['./late.js']],
    ['await import( `./template.js` )', ['./template.js']],
    [`import fs = require('node:fs');`, ['node:fs']],
    [`import{f}from'./f.js'`, ['./f.js']],
  ])('%s', (source, expected) => {
    expect(importsIn(source)).toEqual(expected);
  });

  it('leaves out what is computed', () => {
    expect(importsIn('await import(`./jobs/${name}.js`); await import(name); from("x y")')).toEqual([]);
  });
});
