import { expect, test } from "vitest";
import { ReconnectingClient } from "../../../../src/adapters/token-stores/secrets/reconnecting-client.ts";
import { rejection } from "../../../contracts/collect.ts";

/** Clients are numbers, and those up to `refused` are refused. */
function aService() {
  const service = { made: 0, refused: 0, isAway: false, replaced: [] as unknown[], closed: [] as number[] };
  const login = new Error("login");
  const away = new Error("away");
  const clients = new ReconnectingClient<number>({
    connect: async (last) => {
      if (service.isAway) throw away;
      service.replaced.push(last);
      return ++service.made;
    },
    isLoginFailure: (error) => error === login,
    close: (client) => void service.closed.push(client),
  });
  const call = () =>
    clients.call(async (client) => {
      if (client <= service.refused) throw login;
      return client;
    });
  return { service, clients, call, login, away };
}

const many = <T>(call: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: 20 }, call));

test("all calls share one client, also where many come first", async () => {
  const { call } = aService();
  expect(new Set(await many(call))).toEqual(new Set([1]));
});

test("many calls that are refused at once bring one new client", async () => {
  const { service, call } = aService();
  await call();
  service.refused = 1;
  expect(new Set(await many(call))).toEqual(new Set([2]));
  expect(service.replaced).toEqual([undefined, 1]);
});

test("a call that is refused again is not made a third time, and one that failed otherwise not twice", async () => {
  const { service, clients, call, login, away } = aService();
  service.refused = 9;
  expect(await rejection(call())).toBe(login);
  expect(service.made).toBe(2);
  expect(await rejection(clients.call(() => Promise.reject(away)))).toBe(away);
  expect(service.made).toBe(2);
});

test("where no client can be made, the next call tries it again", async () => {
  const { service, call, away } = aService();
  service.isAway = true;
  expect(await rejection(many(call))).toBe(away);
  service.isAway = false;
  expect(await call()).toBe(1);
});

test("in the end all are closed, and none before: others may be calling with one that was replaced", async () => {
  const { service, clients, call } = aService();
  await call();
  service.refused = 1;
  await call();
  expect(service.closed).toEqual([]);
  await clients.close();
  expect(service.closed).toEqual([1, 2]);
});
