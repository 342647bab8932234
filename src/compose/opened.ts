/** One port or several, with what closes their connections. */
export interface Opened<T> {
  readonly value: T;
  close(): Promise<void>;
}

/** Runs `body`, then closes the connections, even if `body` throws. */
export async function using<T, Result>(
  opened: Opened<T>,
  body: (value: T) => Promise<Result>,
): Promise<Result> {
  try {
    return await body(opened.value);
  } finally {
    await opened.close();
  }
}
