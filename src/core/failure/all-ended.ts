/** As `Promise.all`, but rejects only once all promises have ended: what is under way must not be abandoned. */
export async function allEnded<T>(promises: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
