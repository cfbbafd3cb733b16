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
