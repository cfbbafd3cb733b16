// The list of several databases.
import { describe, expect, it } from 'vitest';
import { readDatabaseList } from '../../../src/model/database/databases.js';

const read = (text: string) => readDatabaseList(text, 'TOCK_DATABASES');

describe('readDatabaseList', () => {
  it('reads names and addresses, with several hosts and parameters', () => {
    expect(
      read(`billing=postgres://app:pa=ss@db-1:5432,db-2:5433/billing?target_session_attrs=read-write
        mail.eu-1=postgresql:///mail?host=/run/postgresql`),
    ).toEqual([
      {
        name: 'billing',
        url: 'postgres://app:pa=ss@db-1:5432,db-2:5433/billing?target_session_attrs=read-write',
      },
      { name: 'mail.eu-1', url: 'postgresql:///mail?host=/run/postgresql' },
    ]);
  });

  it.each([
    ['', 'TOCK_DATABASES names no database'],
    ['postgres://app:secret@db/x', 'word 1 of TOCK_DATABASES is not a name and an address'],
    ['a=postgres://db/x postgres://app:secret@db/y', 'word 2 of TOCK_DATABASES is not a name and an address'],
    ['../up=postgres://app:secret@db/x', 'word 1 of TOCK_DATABASES is not a name'],
    ['a=mysql://app:secret@db/x', 'the address of "a" must begin with postgres://'],
    ['a=postgres://app:secret@db/x a=postgres://db/y', 'TOCK_DATABASES names "a" twice'],
  ])('refuses %j without showing a password', (text, message) => {
    expect(() => read(text)).toThrow(message);
    expect(() => read(text)).toThrow(/^(?!.*secret)/);
  });
});
