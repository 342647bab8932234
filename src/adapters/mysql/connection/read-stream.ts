import type { Readable } from "node:stream";
import type { Connection, QueryOptions } from "mysql2";
import { cutOff } from "./connection.ts";

/** Reads a query to its end, a batch at a time. If the reader stops early, or after an error, ends the connection. */
export async function* readStream<Row extends readonly unknown[]>(
  connection: Connection,
  query: QueryOptions,
  size: number,
): AsyncGenerator<Row[]> {
  let lost: Error | undefined;
  let stream: Readable | undefined;
  // If the connection is lost, the driver tells only the connection's listeners: without this one, the stream would
  // never end.
  const onLost = (error: Error): void => {
    lost = error;
    stream?.destroy(error);
  };
  connection.once("error", onLost);
  stream = connection.query(query).stream({ highWaterMark: size });
  if (lost) stream.destroy(lost);
  let isAtEnd = false;
  try {
    let batch: Row[] = [];
    for await (const row of stream) {
      batch.push(row);
      if (batch.length < size) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
    isAtEnd = true;
  } finally {
    connection.off("error", onLost);
    if (!isAtEnd) cutOff(connection);
  }
}
