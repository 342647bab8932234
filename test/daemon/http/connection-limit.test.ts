import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { keepRoom } from "../../../src/daemon/http/connection-limit.ts";

test("a burst from one address leaves its last 150 connections, before any has had time to close", () => {
  const server = new EventEmitter();
  keepRoom(server as Server, () => {});
  const burst = Array.from({ length: 400 }, () => new Socket());
  for (const socket of burst) server.emit("connection", socket);
  expect(burst.map(({ destroyed }) => destroyed)).toEqual(burst.map((_, n) => n < 250));
});
