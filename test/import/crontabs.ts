// The crontabs of test/fixtures/crontabs.txt: the shapes of real ones, with commands written anew.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type ImportContext, type Translation, translate } from '../../src/import/crontab/translate.js';
import type { CronKind } from '../../src/model/crontab/cron-field.js';
import { readCrontab } from '../../src/model/crontab/crontab.js';

export interface FixtureCrontab {
  readonly name: string;
  readonly hasUser: boolean;
  readonly text: string;
}

const FILE = path.join(import.meta.dirname, '..', 'fixtures', 'crontabs.txt');

export const CRONTABS: readonly FixtureCrontab[] = readFileSync(FILE, 'utf8')
  .split(/^===== /m)
  .slice(1)
  .map(section => {
    const [title = '', ...lines] = section.split('\n');
    const [name = '', column = ''] = title.split(' ');
    return { name, hasUser: column === 'system', text: lines.join('\n') };
  });

export function contextOf(change: Partial<ImportContext> = {}): ImportContext {
  return {
    kind: 'debian',
    timezone: 'Europe/Berlin',
    hasUser: false,
    user: 'app',
    homeOf: user => `/home/${user ?? 'app'}`,
    ...change,
  };
}

/** Translates a text, of a user's crontab unless told otherwise. */
export function translated(text: string, change: Partial<ImportContext> = {}): Translation {
  const context = contextOf(change);
  return translate(readCrontab(text, context), context);
}

export const KINDS: readonly CronKind[] = ['debian', 'cronie'];
