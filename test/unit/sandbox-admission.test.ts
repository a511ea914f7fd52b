import { describe, expect, it } from 'vitest';
import { createAdmission } from '../../src/sandbox/admission.js';
import { createKeyedQueue } from '../../src/sandbox/keyed-queue.js';

const signal = new AbortController().signal;
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('admission', () => {
  it('lets so many in at once and the rest in the order they came', async () => {
    const admission = createAdmission(2);
    const entered: number[] = [];
    const leaves: (() => void)[] = [];
    for (const n of [1, 2, 3, 4]) {
      admission.enter(signal).then((leave) => {
        entered.push(n);
        leaves.push(leave);
      });
    }
    await settle();
    expect(entered).toEqual([1, 2]);
    expect(admission.waiting()).toBe(2);
    leaves[1]?.();
    leaves[1]?.();
    await settle();
    expect(entered).toEqual([1, 2, 3]);
    leaves[0]?.();
    await settle();
    expect(entered).toEqual([1, 2, 3, 4]);
  });

  it('forgets who stopped waiting', async () => {
    const admission = createAdmission(1);
    const leave = await admission.enter(signal);
    const abort = new AbortController();
    const waiting = admission.enter(abort.signal);
    abort.abort(new Error('gave up'));
    await expect(waiting).rejects.toThrow('gave up');
    await expect(admission.enter(abort.signal)).rejects.toThrow('gave up');
    leave();
    (await admission.enter(signal))();
    expect(admission.waiting()).toBe(0);
  });
});

describe('a keyed queue', () => {
  it('runs equal keys one after another, others beside them, and goes on after a failure', async () => {
    const queue = createKeyedQueue();
    const order: string[] = [];
    const work =
      (name: string, fails = false) =>
      async () => {
        order.push(`${name} starts`);
        await settle();
        order.push(`${name} ends`);
        if (fails) throw new Error(name);
        return name;
      };
    const results = await Promise.allSettled([
      queue.run('k', work('a', true)),
      queue.run('k', work('b')),
      queue.run('other', work('c')),
    ]);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(order.indexOf('b starts')).toBeGreaterThan(order.indexOf('a ends'));
    expect(order.indexOf('c starts')).toBeLessThan(order.indexOf('a ends'));
  });
});
