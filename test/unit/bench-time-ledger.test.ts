import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { divideTime } from '../bench/time-ledger.js';

const ORDER = ['command', 'engine', 'waiting'] as const;
type Name = (typeof ORDER)[number];

describe('dividing a span of time', () => {
  it('gives an instant of two activities to the one that comes first in the order', () => {
    const spent = divideTime(
      { from: 0, to: 100 },
      [
        { name: 'waiting', from: 10, to: 60 },
        { name: 'command', from: 40, to: 90 },
      ],
      ORDER,
    );
    expect(Object.fromEntries(spent)).toEqual({ idle: 20, waiting: 30, command: 50 });
  });

  it('leaves out what lies outside the span and counts equal activities once', () => {
    const spent = divideTime<Name>(
      { from: 100, to: 200 },
      [
        { name: 'engine', from: 0, to: 150 },
        { name: 'engine', from: 120, to: 140 },
        { name: 'engine', from: 250, to: 300 },
      ],
      ORDER,
    );
    expect(spent.get('engine')).toBe(50);
    expect(spent.get('idle')).toBe(50);
  });

  it('always adds up to the span', () => {
    const activity = fc
      .record({
        name: fc.constantFrom(...ORDER),
        from: fc.integer({ min: -50, max: 150 }),
        length: fc.nat(100),
      })
      .map(({ name, from, length }) => ({ name, from, to: from + length }));
    fc.assert(
      fc.property(fc.array(activity), (activities) => {
        const spent = divideTime({ from: 0, to: 100 }, activities, ORDER);
        expect([...spent.values()].reduce((sum, one) => sum + one, 0)).toBe(100);
      }),
    );
  });
});
