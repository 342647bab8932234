/**
 * Rejects where the answer takes longer than so many milliseconds. The driver's own clock goes on where the connection
 * is lost, and keeps a program alive that has nothing left to do.
 */
export async function inTime<T>(ms: number, answer: Promise<T>): Promise<T> {
  let clock: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    clock = setTimeout(() => reject(new Error("the database doesn't answer")), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(clock);
  }
}
