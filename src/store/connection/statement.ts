// A statement: SQL with a name and named parameters, written `:name` and sent as `$1…`.

export interface Session {
  /**
   * Runs one statement, written for the schema `tock`, and returns its rows. A {@link PREPARED} one is
   * planned once per connection, if the route to the server allows it: a pooler may not.
   */
  run<Row>(text: string, values?: readonly unknown[], prepared?: typeof PREPARED): Promise<Row[]>;
}

/**
 * How a session is asked to prepare a statement: for the few that run again and again, and whose planning
 * would cost more than their work.
 */
export const PREPARED = 'prepared';

export interface Statement<Params extends object, Row> {
  /** Unique; used in errors. */
  readonly name: string;
  /** As it is sent, for the schema `tock`: each parameter is `$n`, numbered by its first occurrence. */
  readonly text: string;
  readonly parameters: readonly (keyof Params & string)[];
  run(session: Session, params: Params): Promise<Row[]>;
  first(session: Session, params: Params): Promise<Row | undefined>;
}

export interface StatementOptions {
  /** Plan it once per connection, for the few that run again and again. Default false. */
  readonly prepared?: boolean;
}

/**
 * A parameter whose value the planner does not see. PostgreSQL plans a prepared statement anew for each
 * execution, as long as the values make the plan look cheaper than one for all values. So the parameters that
 * do, such as a LIMIT or the length of an array, are made opaque.
 */
export const opaqueToPlanner = (parameter: string, type: string): string => `(select :${parameter}::${type})`;

const defined = new Map<string, Statement<never, unknown>>();

/** Every statement of the loaded modules, by name, for tests. */
export const definedStatements = (): ReadonlyMap<string, Statement<never, unknown>> => defined;

/**
 * Defines a statement. Throws if the name has another text already, and on a `$1` among the named parameters.
 * @param sql written for the schema `tock`. `:name` is a parameter, except within quotes and comments, and
 * after another colon (`::text`)
 */
export function statement<Params extends object, Row>(
  name: string,
  sql: string,
  { prepared = false }: StatementOptions = {},
): Statement<Params, Row> {
  const { text, parameters } = numbered(name, sql);
  const names = parameters as (keyof Params & string)[];
  const valuesOf = (params: Params) =>
    names.map(parameter => {
      const value = params[parameter];
      // The driver would send null, for which many conditions give no rows.
      if (value === undefined) throw new Error(`statement "${name}" needs a value for :${parameter}`);
      return value;
    });
  const run = (session: Session, params: Params) =>
    prepared ? session.run<Row>(text, valuesOf(params), PREPARED) : session.run<Row>(text, valuesOf(params));
  const made: Statement<Params, Row> = {
    name,
    text,
    parameters: names,
    run,
    first: async (session, params) => (await run(session, params))[0],
  };
  // A loader that makes CommonJS of ES modules, such as tsx, may evaluate a module of ours twice.
  const before = defined.get(name);
  if (before !== undefined && before.text !== text)
    throw new Error(`there are two statements named "${name}"`);
  defined.set(name, made);
  return made;
}

/** Quoted text, quoted names, comments and casts come first, so that a colon in them is no parameter. */
const TOKENS =
  /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\/|(\$\w*\$)[\s\S]*?\1|::|:([a-z]\w*)|(\$\d+)/gi;

function numbered(name: string, sql: string): { readonly text: string; readonly parameters: string[] } {
  const parameters: string[] = [];
  const text = sql.replace(TOKENS, (token, _quote, parameter?: string, position?: string) => {
    if (position !== undefined) throw new Error(`statement "${name}" has ${position} among named parameters`);
    if (parameter === undefined) return token;
    if (!parameters.includes(parameter)) parameters.push(parameter);
    return `$${parameters.indexOf(parameter) + 1}`;
  });
  return { text, parameters };
}
