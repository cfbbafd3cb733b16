// What an error of the server means, by its SQLSTATE: its message may be in any language.
import { describe, expect, it } from 'vitest';
import { explainDatabaseError } from '../../../src/store/connection/errors.js';

describe('a permission that was denied', () => {
  it.each([
    'permission denied for table migrations',
    'keine Berechtigung für Tabelle migrations',
    'must be owner of table job_runs',
  ])('is one in any language, with the same advice: %s', message => {
    const error = Object.assign(new Error(message), { code: '42501' });
    expect(explainDatabaseError(error, 'jobs')).toMatchObject({
      code: 'TOCK_FORBIDDEN',
      message: `${message}; docs/database.md, Roles, has what each role needs in schema jobs: tock doctor names what this one lacks to tick, and has the grants; tock migrate and tock prune need the owner`,
    });
  });
});

describe('a connection that pg_hba.conf does not allow', () => {
  it.each([
    'no pg_hba.conf entry for host "127.0.0.1", user "app", database "app", no encryption',
    'kein pg_hba.conf-Eintrag für Host »127.0.0.1«, Benutzer »app«, Datenbank »app«, keine Verschlüsselung',
  ])('may need TLS, in any language: %s', message => {
    const error = Object.assign(new Error(message), { code: '28000' });
    expect(explainDatabaseError(error, 'tock')).toMatchObject({
      code: 'TOCK_DATABASE_UNREACHABLE',
      message: expect.stringMatching(/only hostssl for it, add sslmode=verify-full to DATABASE_URL$/),
    });
  });
});

describe('what failed before the server answered', () => {
  it.each([
    ['a file that is not there', { code: 'ENOENT', syscall: 'open' }, /check the files that sslrootcert/],
    ['a folder in place of a file', { code: 'EISDIR', syscall: 'read' }, /check the files that sslrootcert/],
    ['a connection that is reset', { code: 'ECONNRESET', syscall: 'read' }, /check that the server runs/],
    ['a connection that times out', { code: 'ETIMEDOUT', syscall: 'read' }, /check that the server runs/],
  ])('is told with its own remedy: %s', (_, fields, remedy) => {
    expect(explainDatabaseError(Object.assign(new Error('failed'), fields), 'tock')).toMatchObject({
      code: 'TOCK_DATABASE_UNREACHABLE',
      message: expect.stringMatching(remedy),
    });
  });
});

describe('a server that is read-only', () => {
  it('may be a standby, or a primary whose sessions are', () => {
    const error = Object.assign(new Error('cannot execute UPDATE in a read-only transaction'), {
      code: '25006',
    });
    const { message } = explainDatabaseError(error, 'tock') as Error;
    expect(message).toContain('name the primary in DATABASE_URL');
    expect(message).toContain('set default_transaction_read_only = off');
  });
});
