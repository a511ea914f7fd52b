/** Waits for work that goes on side by side, so that none of it is left running behind the back of who asked for it. */

/** The values in order, once everything has ended; throws what the first in order of those that failed threw. */
export async function allSettled<const Work extends readonly Promise<unknown>[]>(
  work: Work,
): Promise<{ -readonly [Key in keyof Work]: Awaited<Work[Key]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
