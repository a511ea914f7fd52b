/** Seeded randomness for the order of measurement, so that a recorded seed gives the same order again. */
import { createHash } from 'node:crypto';

/** Uniform numbers in [0, 1) from a seed text: sfc32 (Chris Doty-Humphrey, PractRand), started from SHA-256. */
export function seededRandom(seed: string): () => number {
  const digest = createHash('sha256').update(seed).digest();
  let a = digest.readInt32LE(0);
  let b = digest.readInt32LE(4);
  let c = digest.readInt32LE(8);
  let counter = digest.readInt32LE(12);
  return () => {
    const result = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + result) | 0;
    return (result >>> 0) / 4294967296;
  };
}

/** A copy in random order (Fisher–Yates). */
export function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const left = [...items];
  const order: T[] = [];
  while (left.length > 0) order.push(...left.splice(Math.floor(random() * left.length), 1));
  return order;
}
