// Reads what the server writes for an array of one dimension: {a,"b c","d\"e",NULL}.

const ELEMENT = /"((?:[^"\\]|\\[\s\S])*)"|([^",{}]+)/g;

export function parseTextArray(text: string): (string | null)[] {
  return [...text.matchAll(ELEMENT)].map(([, quoted, plain = '']) => {
    if (quoted !== undefined) return quoted.replace(/\\([\s\S])/g, '$1');
    return plain === 'NULL' ? null : plain;
  });
}
