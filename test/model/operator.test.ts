// Model: roles and what each may do; who may act for whom; what is shown to whom.
import { describe, expect, it } from 'vitest';
import {
  ACTIONS,
  actionsNamed,
  checkOperator,
  includesRole,
  mayDo,
  type Operator,
  REDACTED,
  ROLES,
  redacted,
  requireRole,
  WORK,
} from '../../src/model/operator.js';

const mia: Operator = { name: 'mia', via: 'page', role: 'operate', seesPayloads: false };

describe('mayDo', () => {
  it.each([
    ['view', []],
    [
      'operate',
      [
        'enqueue',
        'emit',
        'groups.continue',
        'groups.retry',
        'groups.cancel',
        'complete',
        'fail',
        'extend',
        'runs.retry',
        'runs.edit',
        'runs.cancel',
        'schedules.pause',
        'schedules.resume',
        'schedules.skip',
        'schedules.move',
        'schedules.restore',
        'schedules.backfill',
        'queues.pause',
        'queues.resume',
        'keys.open',
        'alerts.mute',
        'alerts.unmute',
        'alerts.test',
        'deploys.mark',
        'forgetHost',
      ],
    ],
    ['admin', Object.keys(ACTIONS)],
  ] as const)('allows the role %s these actions and no others', (role, expected) => {
    const actions = Object.keys(ACTIONS) as (keyof typeof ACTIONS)[];
    expect(actions.filter(action => mayDo(role, action))).toEqual(expected);
  });

  it('lets nobody who only views execute runs', () => {
    const works = Object.keys(WORK) as (keyof typeof WORK)[];
    expect(works.filter(work => mayDo('view', work))).toEqual([]);
    expect(works.filter(work => !mayDo('admin', work))).toEqual([]);
  });

  it('includes in each role those before it', () => {
    for (const [index, role] of ROLES.entries())
      expect(ROLES.filter(each => includesRole(role, each))).toEqual(ROLES.slice(0, index + 1));
  });
});

describe('requireRole', () => {
  it('says which role is needed, and which is there', () => {
    expect(() => requireRole(mia, 'queues.set')).toThrow(
      expect.objectContaining({
        code: 'TOCK_FORBIDDEN',
        message: 'queues.set needs the role admin; "mia" has the role operate',
      }),
    );
  });

  it('stops neither the app itself nor a role that suffices', () => {
    expect(() => requireRole(null, 'migrate')).not.toThrow();
    expect(() => requireRole(mia, 'runs.retry')).not.toThrow();
  });
});

describe('checkOperator', () => {
  it('gives the operator without anything else', () => {
    expect(checkOperator(mia, null)).toEqual(mia);
  });

  it.each([
    [{ ...mia, name: '' }, 'cannot be the name of an operator'],
    [{ ...mia, name: ' ' }, 'cannot be the name of an operator'],
    [{ ...mia, name: 'm\0a' }, 'cannot be the name of an operator'],
    [{ ...mia, name: 'm'.repeat(201) }, 'cannot be the name of an operator'],
    [{ ...mia, name: undefined }, 'cannot be the name of an operator'],
    [{ ...mia, role: 'root' }, 'role "root" is none of view, operate, admin'],
    [{ ...mia, via: 'phone' }, 'via "phone" is none of page, cli, api, agent, alert'],
    [{ ...mia, seesPayloads: 'yes' }, 'seesPayloads "yes" is neither true nor false'],
    [{ ...mia, rank: 1 }, 'operator has no option "rank"'],
    [null, 'operator is null; write an object of options'],
    ['mia', 'operator is "mia"'],
  ])('refuses %j', (operator, message) => {
    expect(() => checkOperator(operator as Operator, null)).toThrow(
      expect.objectContaining({ code: 'TOCK_BAD_OPTION', message: expect.stringContaining(message) }),
    );
  });

  it.each([
    ['another role that is no higher', { ...mia, name: 'ben', role: 'view' }, true],
    ['a higher role', { ...mia, role: 'admin' }, false],
    ['the right to see payloads', { ...mia, seesPayloads: true }, false],
  ] as const)('of somebody who acts already, lets them take %s: %s', (_what, next, isAllowed) => {
    const check = () => checkOperator(next, mia);
    if (isAllowed) expect(check()).toEqual(next);
    else expect(check).toThrow(expect.objectContaining({ code: 'TOCK_FORBIDDEN' }));
  });
});

it.each([
  ['runs', ['runs.retry', 'runs.edit', 'runs.cancel']],
  ['runs.retry', ['runs.retry']],
  ['prune', ['prune']],
  ['run', []],
  ['', []],
  ['constructor', []],
])('actionsNamed reads %j as %j', (name, expected) => {
  expect(actionsNamed(name)).toEqual(expected);
});

describe('redacted', () => {
  it('hides what a run holds, and leaves the rest', () => {
    expect(redacted({ id: '1', payload: { iban: 'x' }, output: [1] })).toEqual({
      id: '1',
      payload: REDACTED,
      output: REDACTED,
    });
  });

  it('leaves null as it is: that nothing is there is no secret', () => {
    expect(redacted({ payload: null, output: null })).toEqual({ payload: null, output: null });
  });

  it('gives a definition no output', () => {
    expect(redacted({ name: 'a', payload: {} })).toEqual({ name: 'a', payload: REDACTED });
  });
});
