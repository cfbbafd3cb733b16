// What is looked for in payloads.
import { describe, expect, it } from 'vitest';
import { readPayloadMatch } from '../../../../src/model/run/match/payload-match.js';

describe('conditions on a payload', () => {
  it.each<[string, readonly (readonly string[])[]]>([
    ['customer=812', [['{"customer":812}', '{"customer":"812"}']]],
    ['customer="812"', [['{"customer":"812"}']]],
    ['customer=0812', [['{"customer":"0812"}']]],
    ['id=12345678901234567890', [['{"id":12345678901234567890}', '{"id":"12345678901234567890"}']]],
    ['order.state=open', [['{"order":{"state":"open"}}']]],
    ['order.state="in transit"', [['{"order":{"state":"in transit"}}']]],
    ['tags=["a"]', [['{"tags":["a"]}']]],
    [
      'a=1 b=true',
      [
        ['{"a":1}', '{"a":"1"}'],
        ['{"b":true}', '{"b":"true"}'],
      ],
    ],
    ['url=http://x/?a=b', [['{"url":"http://x/?a=b"}']]],
    ['{"invoice": 7}', [['{"invoice": 7}']]],
    ['7', [['7']]],
    ['{"a": "1e999999", "b": 1e300}', [['{"a": "1e999999", "b": 1e300}']]],
  ])('%s', (text, expected) => {
    expect(readPayloadMatch(text)).toEqual(expected);
  });

  it.each([
    '',
    'customer',
    'customer=',
    '=812',
    'a..b=1',
    'name=Ann Smith',
    'a=1 and b=2',
    '{a: 1}',
    '{"a": "\\u0000"}',
    'a=1e999999',
    '{"a": [1E-020000]}',
    'a="x',
    7,
    'x'.repeat(9000),
  ])('refuses %s, and says how to write it', text => {
    expect(() => readPayloadMatch(text)).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_OPTION',
        message: expect.stringMatching(/^payload /) as string,
      }),
    );
  });
});
