// A form for a payload, from its schema.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { payloadFields, payloadOfForm } from '../../../../src/model/job/payload/payload-form.js';
import { typeOnly } from '../../../../src/model/job/type-only.js';

const schema = z.object({
  userId: z.number().int(),
  from: z.string().optional().describe('the first day'),
  mode: z.enum(['a', 'b']).default('a'),
  on: z.boolean(),
  tags: z.array(z.string()).optional(),
});
const read = (texts: Record<string, string>) =>
  payloadOfForm(payloadFields(schema) ?? [], name => texts[name] ?? '');

describe('the fields of a payload', () => {
  it('are those of its schema', () => {
    expect(payloadFields(schema)).toMatchObject([
      { name: 'userId', kind: 'number', isRequired: true, initial: '' },
      { name: 'from', kind: 'text', isRequired: false, description: 'the first day' },
      { name: 'mode', kind: 'choice', choices: ['a', 'b'], initial: 'a', isRequired: false },
      { name: 'on', kind: 'boolean', isRequired: true },
      { name: 'tags', kind: 'json', isRequired: false },
    ]);
  });

  it('are not known of a schema that does not say, or takes no object', () => {
    for (const each of [undefined, null, typeOnly<object>(), z.string(), {}])
      expect(payloadFields(each)).toBeNull();
  });

  it('give the payload; what is empty is left out', () => {
    expect(read({ userId: '7', on: 'true', tags: '["x"]' })).toEqual({ userId: 7, on: true, tags: ['x'] });
    expect(read({ from: '2026-03-01' })).toEqual({ from: '2026-03-01' });
  });

  it.each([
    [{ userId: 'seven' }, 'userId "seven" is not a number'],
    [{ on: '1' }, 'on "1" is not true or false'],
    [{ tags: '[x' }, 'tags is not JSON'],
    [{ tags: '[0.1234567890123456789]' }, 'tags holds the number 0.1234567890123456789'],
    [{ userId: '12345678901234567890' }, 'would lose digits'],
  ])('%j is refused, by the name of the field', (texts, message) => {
    expect(() => read(texts as Record<string, string>)).toThrow(message);
  });
});
