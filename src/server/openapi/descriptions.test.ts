import { expect, it } from 'vitest';
import { builtInTypes } from '../schema/built-in-types.ts';
import { described, parseDeclarations } from './descriptions.ts';

const pod = 'io.k8s.api.core.v1.PodSpec';

it('a type and its fields are described by the comments before them', () => {
  const source = [
    '/** Of one line. */',
    'export interface One {',
    '    /**',
    '     * First.',
    '     *   - indented',
    '     */',
    '    a?: string;',
    '    b: number;',
    '    /** With "quotes". */',
    '    "$ref"?: string;',
    '}',
    'export type Two = string;',
  ].join('\n');
  const types = parseDeclarations(source);
  expect(types.get('One')!.text).toBe('Of one line.');
  expect([...types.get('One')!.fields]).toEqual([
    ['a', 'First.\n  - indented'],
    ['$ref', 'With "quotes".'],
  ]);
  expect(types.get('Two')).toEqual({ text: undefined, fields: new Map() });
});

it('most fields of the built-in kinds are described, and nothing else of a type changes', () => {
  const type = builtInTypes().openApi(pod)!;
  const { description, properties, ...rest } = described(pod, type) as Record<string, Record<string, object>>;
  expect(description).toMatch(/./);
  const { properties: plain, ...same } = type as Record<string, Record<string, object>>;
  expect(rest).toEqual(same);
  const withText = Object.values(properties!).filter((field) => 'description' in field);
  expect(withText.length).toBeGreaterThan(Object.keys(plain!).length * 0.8);
  for (const [name, field] of Object.entries(properties!)) {
    const { description: _text, ...others } = field as { description?: string };
    expect(others).toEqual(plain![name]);
  }
});

it.each(['io.k8s.api.resource.v1.ResourceClaim', 'io.k8s.apimachinery.pkg.runtime.RawExtension', 'com.example.v1.X'])(
  'a type that the package does not know, %s, is as it was',
  (name) => {
    const type = { type: 'object', properties: { a: { type: 'string' } } };
    expect(described(name, type)).toBe(type);
  },
);
