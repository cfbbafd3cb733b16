// What to grant where PostgreSQL has denied a permission.

const OBJECT = /permission denied for (table|sequence|function|schema|database) "?([\w$]+)"?/;

/**
 * The statement for the owner of the schema; ROLE stands for the role that lacks the right. Null if the
 * message names no object of a known kind.
 */
export function missingGrant(message: string, schema: string): string | null {
  if (/must be (?:the )?owner of|permission denied to create/.test(message))
    return `connect as the owner of schema ${schema}: tock migrate and tock prune need that role`;
  const [, kind, name = ''] = OBJECT.exec(message) ?? [];
  const grant = grantFor(kind, name, schema);
  if (grant === null) return null;
  return `let the owner run: ${grant}; ROLE is this connection's user (docs/operations.md, Roles, has what each role needs)`;
}

function grantFor(kind: string | undefined, name: string, schema: string): string | null {
  switch (kind) {
    case 'schema':
      return `grant usage on schema ${name} to ROLE`;
    case 'table':
      return name === 'migrations'
        ? `grant select on all tables in schema ${schema} to ROLE`
        : `grant select, insert, update, delete on ${schema}.${name} to ROLE (select suffices to read)`;
    case 'sequence':
      return name.startsWith('claim_front_')
        ? `grant select, update on sequence ${schema}.${name} to ROLE`
        : `grant usage on all sequences in schema ${schema} to ROLE`;
    case 'function':
      return `grant execute on function ${schema}.${name} to ROLE`;
    case 'database':
      return `grant create on database ${name} to ROLE`;
    default:
      return null;
  }
}
