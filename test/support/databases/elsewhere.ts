import { hostname, networkInterfaces } from "node:os";

/** This machine by another address than the loopback's: to a client it is another host. */
export const ELSEWHERE =
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? hostname();
