/** Caches the first answer for which `tells` is true. Calls at the same time share one request. */
export function once<T>(ask: () => Promise<T>, tells: (answer: T) => boolean): () => Promise<T> {
  let asked: Promise<T> | undefined;
  const askNow = async (): Promise<T> => {
    try {
      const answer = await ask();
      if (!tells(answer)) asked = undefined;
      return answer;
    } catch (error) {
      asked = undefined;
      throw error;
    }
  };
  return () => {
    asked ??= askNow();
    return asked;
  };
}
