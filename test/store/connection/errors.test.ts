// What an error of the server means, by its SQLSTATE: its message may be in any language.
import { expect, it } from 'vitest';
import { explainDatabaseError } from '../../../src/store/connection/errors.js';

it.each([
  'permission denied for table migrations',
  'keine Berechtigung für Tabelle migrations',
  'must be owner of table job_runs',
])('a permission that was denied is one in any language, with the same advice: %s', message => {
  const error = Object.assign(new Error(message), { code: '42501' });
  expect(explainDatabaseError(error, 'jobs')).toMatchObject({
    code: 'TOCK_FORBIDDEN',
    message: `${message}; docs/database.md, Roles, has what each role needs in schema jobs: tock doctor names what this one lacks to tick, and has the grants; tock migrate and tock prune need the owner`,
  });
});

it.each([
  'no pg_hba.conf entry for host "127.0.0.1", user "app", database "app", no encryption',
  'kein pg_hba.conf-Eintrag für Host »127.0.0.1«, Benutzer »app«, Datenbank »app«, keine Verschlüsselung',
])('a connection that pg_hba.conf does not allow may need TLS, in any language: %s', message => {
  const error = Object.assign(new Error(message), { code: '28000' });
  expect(explainDatabaseError(error, 'tock')).toMatchObject({
    code: 'TOCK_DATABASE_UNREACHABLE',
    message: expect.stringMatching(/only hostssl for it, add sslmode=verify-full to DATABASE_URL$/),
  });
});

it.each([
  ['a file that is not there', { code: 'ENOENT', syscall: 'open' }, /check the files that sslrootcert/],
  ['a folder in place of a file', { code: 'EISDIR', syscall: 'read' }, /check the files that sslrootcert/],
  ['a connection that is reset', { code: 'ECONNRESET', syscall: 'read' }, /check that the server runs/],
  ['a connection that times out', { code: 'ETIMEDOUT', syscall: 'read' }, /check that the server runs/],
])('what failed before the server answered is told with its own remedy: %s', (_, fields, remedy) => {
  expect(explainDatabaseError(Object.assign(new Error('failed'), fields), 'tock')).toMatchObject({
    code: 'TOCK_DATABASE_UNREACHABLE',
    message: expect.stringMatching(remedy),
  });
});

it('a server that is read-only may be a standby, or a primary whose sessions are', () => {
  const error = Object.assign(new Error('cannot execute UPDATE in a read-only transaction'), {
    code: '25006',
  });
  const { message } = explainDatabaseError(error, 'tock') as Error;
  expect(message).toContain('name the primary in DATABASE_URL');
  expect(message).toContain('set default_transaction_read_only = off');
});

it.each(['22021', '22P02', '22003'])(
  'a value that PostgreSQL does not take is the fault of who gave it: %s',
  state => {
    const error = Object.assign(new Error('invalid'), { code: state });
    expect(explainDatabaseError(error, 'tock')).toMatchObject({ code: 'TOCK_BAD_OPTION', cause: error });
  },
);
