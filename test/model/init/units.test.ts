// The units of systemd: what their values must not say by accident.
import { describe, expect, it } from 'vitest';
import { daemonUnit, tickUnit } from '../../../src/model/init/units.js';

const PLAIN = { folder: '/srv/app', node: '/usr/bin/node', user: 'app' };
const ODD = { folder: `/srv/100% it's "mine"`, node: '/opt/my node/100%/bin/node', user: 'app' };
const valueOf = (unit: string, key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1];

describe('the units', () => {
  it('name folder, user and program as they are', () => {
    for (const unit of [daemonUnit(PLAIN), tickUnit(PLAIN)]) {
      expect(valueOf(unit, 'WorkingDirectory')).toBe('/srv/app');
      expect(valueOf(unit, 'EnvironmentFile')).toBe('-/srv/app/.env');
      expect(valueOf(unit, 'User')).toBe('app');
    }
    expect(valueOf(daemonUnit(PLAIN), 'ExecStart')).toBe(
      '/usr/bin/node node_modules/pg-tock/dist/cli.js start',
    );
    expect(valueOf(tickUnit(PLAIN), 'ExecStart')).toBe('/usr/bin/node node_modules/pg-tock/dist/tick.js');
  });

  it('double each %, and quote a program that has blanks', () => {
    const unit = tickUnit(ODD);
    expect(valueOf(unit, 'WorkingDirectory')).toBe(`/srv/100%% it's "mine"`);
    expect(valueOf(unit, 'EnvironmentFile')).toBe(`-/srv/100%% it's "mine"/.env`);
    expect(valueOf(unit, 'ExecStart')).toBe(
      '"/opt/my node/100%%/bin/node" node_modules/pg-tock/dist/tick.js',
    );
    expect(valueOf(unit, 'Description')).toBe(`One tick of Tock in /srv/100%% it's "mine"`);
    expect(valueOf(tickUnit({ ...PLAIN, node: '/opt/"a"\\b/node' }), 'ExecStart')).toMatch(
      /^"\/opt\/\\"a\\"\\\\b\/node" /,
    );
  });
});
