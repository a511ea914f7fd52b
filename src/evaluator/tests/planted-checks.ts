/**
 * Calls of assertions that must throw, by the label of the test that makes them; together they are what a patch would
 * have to bend to make tests pass by themselves. Words in capitals are replaced by the names that the planted text uses.
 */

export const ASSERT: Readonly<Record<string, string>> = {
  ok: 'ASSERT.ok(false)',
  equal: 'ASSERT.equal(ONE, OTHER)',
  strictEqual: 'ASSERT.strictEqual(ONE, OTHER)',
  deepEqual: 'ASSERT.deepEqual({ a: ONE }, { a: OTHER })',
  deepStrictEqual: 'ASSERT.deepStrictEqual([ONE], [OTHER])',
  throws: 'ASSERT.throws(() => {})',
  match: "ASSERT.match('a', /b/)",
  // The functions of node:assert/strict, which are others.
  strictOk: 'ASSERT.strict.ok(false)',
  strictlyEqual: 'ASSERT.strict.equal(ONE, OTHER)',
  strictlyStrictEqual: 'ASSERT.strict.strictEqual(ONE, OTHER)',
  strictlyDeepEqual: 'ASSERT.strict.deepEqual({ a: ONE }, { a: OTHER })',
  strictlyDeepStrictEqual: 'ASSERT.strict.deepStrictEqual([ONE], [OTHER])',
  strictThrows: 'ASSERT.strict.throws(() => {})',
};
export const EXPECT: Readonly<Record<string, string>> = {
  toBe: 'EXPECT(ONE).toBe(OTHER)',
  toEqual: 'EXPECT({ a: ONE }).toEqual({ a: OTHER })',
  toStrictEqual: 'EXPECT([ONE]).toStrictEqual([OTHER])',
  toBeTruthy: 'EXPECT(false).toBeTruthy()',
  toThrow: 'EXPECT(() => {}).toThrow()',
  toHaveLength: 'EXPECT([ONE]).toHaveLength(2)',
  toMatch: "EXPECT('a').toMatch(/b/)",
};
export const CHAI: Readonly<Record<string, string>> = {
  chaiEqual: 'CHAI.expect(ONE).to.equal(OTHER)',
  chaiDeep: 'CHAI.expect({ a: ONE }).to.deep.equal({ a: OTHER })',
  chaiThrow: 'CHAI.expect(() => {}).to.throw()',
  chaiAssert: 'CHAI.assert.equal(ONE, OTHER)',
  chaiStrict: 'CHAI.assert.strictEqual(ONE, OTHER)',
};
export const THROW: Readonly<Record<string, string>> = { thrown: "throw new Error('TOKEN')" };
