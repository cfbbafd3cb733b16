// Numbers of JSON text that JavaScript would alter: beyond 53 bits, or with more digits than a double holds.

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** The first number of a JSON text that would not come back as it is; null: none. */
export function inexactNumber(json: string): string | null {
  for (const [token] of json.matchAll(TOKENS))
    if (!token.startsWith('"') && plainDigits(token) !== plainDigits(String(Number(token)))) return token;
  return null;
}

/** Without sign, point, exponent and zeros at both ends, and where its point is: equal for equal numbers. */
function plainDigits(number: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number) ?? [];
  const digits = `${whole}${fraction}`;
  const significant = digits.replace(/^0+/, '').replace(/0+$/, '');
  if (significant === '') return /^[-\d]/.test(number) && whole !== '' ? '0' : number;
  const leading = digits.length - digits.replace(/^0+/, '').length;
  return `${significant}e${whole.length - leading + Number(exponent)}`;
}
