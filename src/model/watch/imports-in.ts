// Which modules a source file names, found without parsing it.

const NAMED = /\b(?:from|import|require)\s*\(?\s*(['"`])([^'"`\s$]+)\1/g;

/**
 * What the imports, re-exports and calls of require name, each once: also those within comments, and not
 * those whose text is computed.
 */
export function importsIn(source: string): string[] {
  return [...new Set([...source.matchAll(NAMED)].map(([, , specifier = '']) => specifier))];
}
