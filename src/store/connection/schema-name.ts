// SQL is written for the schema `tock`, and run in the configured schema.

/** Replaces `tock` as a qualifier, and as a literal of its own, such as the channel of NOTIFY. */
export function inSchema(text: string, schema: string): string {
  return text
    .replace(/(?<![\w"'])tock\./g, `"${schema}".`)
    .replace(/(?<![\w'])"tock"\./g, `"${schema}".`)
    .replace(/'tock\./g, `'"${schema}".`)
    .replace(/(\bschema (?:if not exists )?)tock\b/g, `$1"${schema}"`)
    .replace(/'tock'/g, `'${schema}'`);
}

/** {@link inSchema}, with each statement rewritten only once. */
export function schemaRewriter(schema: string): (text: string) => string {
  const rewritten = new Map<string, string>();
  return text => {
    let found = rewritten.get(text);
    if (found === undefined) {
      found = inSchema(text, schema);
      // Statements are constants of the code, so this stays small; the bound is for a caller's mistake.
      if (rewritten.size < 1000) rewritten.set(text, found);
    }
    return found;
  };
}
