// Daemon: what it says of its database, and how often.
import { describe, expect, it } from 'vitest';
import { createDatabaseLog } from '../../src/daemon/database-log.js';
import type { Engine } from '../../src/engine/engine.js';
import type { Logger } from '../../src/index.js';

const open = () => {
  const lines: string[] = [];
  const say = (level: string) => (fields: Readonly<Record<string, unknown>>, message?: string) => {
    lines.push(`${level} ${String(fields['event'])}: ${message}`);
  };
  const logger: Logger = {
    debug: say('debug'),
    info: say('info'),
    warn: say('warn'),
    error: say('error'),
    child: () => logger,
  };
  let host: string | null = null;
  const database = { host: () => host } as Engine['database'];
  return {
    lines,
    log: createDatabaseLog({ database, logger }),
    moveTo: (name: string | null) => {
      host = name;
    },
  };
};
const lost = Object.assign(new Error('read-only'), { code: '25006' });

describe('createDatabaseLog', () => {
  it('says once that it is away, however often passes fail, and once that it is back, and where', () => {
    const { lines, log, moveTo } = open();
    moveTo('h1:5432');
    expect(log.works()).toBe('same');
    for (let count = 0; count < 100; count++) log.fails(lost);
    moveTo('h2:5432');
    expect([log.works(), log.works()]).toEqual(['back', 'same']);
    expect(lines).toEqual([
      'warn database.away: cannot work with the database, trying again: Error: read-only',
      'info database.back: the database is back, at h2:5432',
    ]);
  });

  it('says that it is at another host, where no pass has failed', () => {
    const { lines, log, moveTo } = open();
    moveTo('h1:5432');
    log.works();
    moveTo('h2:5432');
    expect([log.works(), log.works()]).toEqual(['moved', 'same']);
    expect(lines).toEqual(['info database.moved: the database is at h2:5432 now, no longer at h1:5432']);
  });

  it('names no host where only one address is known', () => {
    const { lines, log } = open();
    log.works();
    log.fails(new TypeError('a mistake'));
    log.works();
    expect(lines).toEqual([
      'error database.away: cannot work with the database, trying again: TypeError: a mistake',
      'info database.back: the database is back',
    ]);
  });
});
