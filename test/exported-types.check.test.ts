// Every type in a public signature has a name that can be imported, and every export says what it is for.
// In: the package's entries (index, testing, adapters, dashboard, relay and http in src/), read by the compiler.
// Out: the names that are missing.
import path from 'node:path';
import { isBlock, type Node, SyntaxKind } from 'typescript/unstable/ast';
import { API, type Symbol as CompilerSymbol, type Project, SymbolFlags } from 'typescript/unstable/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '..');
const ENTRIES = ['index', 'testing', 'adapters', 'dashboard', 'relay', 'http'].map(name => `src/${name}.ts`);

let api: API;
let project: Project;
let front: ReadonlySet<number>;

beforeAll(() => {
  api = new API({ cwd: ROOT });
  const config = path.join(ROOT, 'tsconfig.json');
  const found = api.updateSnapshot({ openProjects: [config] }).getProject(config);
  if (!found) throw new Error(`${config} was not read`);
  project = found;
  front = idsOf(exportsOf('src/index.ts'));
});
afterAll(() => api.close());

/** With what namespaces among them have. */
const idsOf = (symbols: readonly CompilerSymbol[]) =>
  new Set(
    symbols.flatMap(symbol => [
      symbol.id,
      ...(symbol.flags & SymbolFlags.Namespace ? [...symbol.getExports().values()].map(({ id }) => id) : []),
    ]),
  );

/** What a symbol stands for, where it was imported or exported on. */
function original(symbol: CompilerSymbol): CompilerSymbol {
  return symbol.flags & SymbolFlags.Alias ? project.checker.getAliasedSymbol(symbol) : symbol;
}

function exportsOf(entry: string): CompilerSymbol[] {
  const file = project.program.getSourceFile(path.join(ROOT, entry));
  const module = file && project.checker.getSymbolAtLocation(file);
  if (!module) throw new Error(`${entry} was not read`);
  return [...module.getExports().values()].map(original);
}

function declarationsOf(symbol: CompilerSymbol): Node[] {
  return symbol.declarations.flatMap(declaration => declaration.resolve(project) ?? []);
}

/** The types that a declaration names, the bodies of functions left out. */
function namedIn(declaration: Node): CompilerSymbol[] {
  const found: CompilerSymbol[] = [];
  const visit = (node: Node): void => {
    if (isBlock(node)) return;
    if (node.kind === SyntaxKind.TypeReference || node.kind === SyntaxKind.ExpressionWithTypeArguments) {
      const { typeName, expression } = node as { readonly typeName?: Node; readonly expression?: Node };
      const name = typeName ?? expression;
      const symbol = name && project.checker.getSymbolAtLocation(name);
      if (symbol) found.push(original(symbol));
    }
    node.forEachChild(visit);
  };
  visit(declaration);
  return found;
}

/** Those of this project. */
const typesIn = (declaration: Node): CompilerSymbol[] =>
  namedIn(declaration).filter(
    ({ flags, declarations: [first] }) =>
      !(flags & SymbolFlags.TypeParameter) &&
      first?.path.toLowerCase().startsWith(`${ROOT}/src/`.toLowerCase()) === true,
  );

/** Those that an app can name: its own peer, the pool that it hands in, and what stands for the language and Node. */
const NAMEABLE = ['kysely', '@types/pg', 'typescript', '@typescript', '@types/node', 'undici-types'];

function packageOf({ declarations: [first] }: CompilerSymbol): string | null {
  const [, name = null] = /.*\/node_modules\/((?:@types\/)?[^/]+)/.exec(first?.path ?? '') ?? [];
  return name;
}

describe.each(ENTRIES)('%s', entry => {
  it('exports every type that its signatures name', () => {
    const exported = exportsOf(entry);
    const importable = new Set([...front, ...idsOf(exported)]);
    const named = exported.flatMap(symbol => declarationsOf(symbol).flatMap(typesIn));
    expect(named.length).toBeGreaterThan(1);
    const missing = named.filter(({ id }) => !importable.has(id)).map(({ name }) => name);
    expect([...new Set(missing)]).toEqual([]);
  });

  it('names no type of a package that an app need not have itself, which its own declarations could not name', () => {
    const packages = exportsOf(entry).flatMap(symbol =>
      declarationsOf(symbol).flatMap(namedIn).map(packageOf),
    );
    expect([...new Set(packages)].filter(name => name !== null && !NAMEABLE.includes(name))).toEqual([]);
  });

  it('has a docstring for every export', () => {
    const undocumented = exportsOf(entry).filter(
      symbol => symbol.getDocumentationComment(project.checker).length === 0,
    );
    expect(undocumented.map(({ name }) => name)).toEqual([]);
  });
});
