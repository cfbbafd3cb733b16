// A denied permission: what the owner grants.
import { describe, expect, it } from 'vitest';
import { explainDatabaseError } from '../../../src/store/connection/errors.js';

const explained = (message: string, schema = 'tock') => {
  const error = Object.assign(new Error(message), { code: '42501' });
  const { code, message: words } = explainDatabaseError(error, schema) as Error & { code: string };
  return `${code}: ${words}`;
};

describe('a permission that was denied', () => {
  it.each([
    ['schema jobs', 'let the owner run: grant usage on schema jobs to ROLE;'],
    [
      'table job_runs_live',
      'grant select, insert, update, delete on jobs.job_runs_live to ROLE (select suffices to read);',
    ],
    ['table migrations', 'grant select on all tables in schema jobs to ROLE;'],
    ['sequence job_runs_id_seq', 'grant usage on all sequences in schema jobs to ROLE;'],
    ['function enqueue_one', 'grant execute on function jobs.enqueue_one to ROLE;'],
    ['database app', 'grant create on database app to ROLE;'],
  ])('names the grant: %s', (what, grant) => {
    const words = explained(`permission denied for ${what}`, 'jobs');
    expect(words).toMatch(new RegExp(`^TOCK_FORBIDDEN: permission denied for ${what}; `));
    expect(words).toContain(grant);
    expect(words).toContain('docs/operations.md, Roles');
  });

  it('names the role for what only the owner may do', () => {
    expect(explained('must be owner of table job_runs')).toContain('connect as the owner of schema tock');
  });

  it('leaves others as they are', () => {
    expect(explained('permission denied for language plpython3u')).toBe(
      '42501: permission denied for language plpython3u',
    );
  });
});
