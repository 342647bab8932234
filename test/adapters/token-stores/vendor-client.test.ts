import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SecretStoreFailure } from "../../../src/adapters/token-stores/secret-store.ts";
import {
  OPTIONAL_PACKAGES,
  optional,
  VendorClient,
} from "../../../src/adapters/token-stores/vendor-client.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { rejection } from "../../contracts/collect.ts";

test("a package that is there is loaded", async () => {
  expect(await optional("aws_secrets_manager", async () => "loaded")).toBe("loaded");
});

test("a missing package is named with the command that installs it", async () => {
  const nowhere = "@aws-sdk/client-for-nothing";
  const error = await rejection(optional("azure_key_vault", () => import(/* @vite-ignore */ nowhere)));
  expect(error).toMatchObject({
    code: "CONFIG_PACKAGE_MISSING",
    message: expect.stringContaining("azure_key_vault"),
    hint: expect.stringMatching(
      /npm install --no-save --save-prod --omit=dev @azure\/keyvault-secrets@[\d.]+ @azure\/identity@[\d.]+$/,
    ),
  });
});

test("a package that fails for another reason says so itself", async () => {
  const failure = new TypeError("broken");
  expect(await rejection(optional("aws_secrets_manager", () => Promise.reject(failure)))).toBe(failure);
});

test("the versions that are named are those that the tests run with", () => {
  const { devDependencies } = JSON.parse(
    readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
  );
  const named = Object.values(OPTIONAL_PACKAGES).flat();
  const installed = named.map((one) => {
    const name = one.slice(0, one.lastIndexOf("@"));
    return `${name}@${devDependencies[name]}`;
  });
  expect(installed).toEqual(named);
});

/** Clients are numbers, and those up to `refused` are refused. */
function aService() {
  const service = { made: 0, refused: 0, isAway: false, closed: [] as number[] };
  const login = new Error("login");
  const away = new Error("away");
  const clients = new VendorClient<number>({
    connect: async () => {
      if (service.isAway) throw away;
      return ++service.made;
    },
    isLoginFailure: (error) => error === login,
    failureOf: (error, call) => new SecretStoreFailure("passing", `${call}: ${error}`, "wait"),
    close: (client) => void service.closed.push(client),
  });
  const send = async (client: number): Promise<number> => {
    if (client <= service.refused) throw login;
    return client;
  };
  const call = () => clients.call(send, "GetSecret");
  return { service, clients, call, send, away };
}

const many = <T>(call: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: 20 }, call));

test("all calls share one client, and those that are refused at once bring one new client", async () => {
  const { service, call } = aService();
  expect(new Set(await many(call))).toEqual(new Set([1]));
  service.refused = 1;
  expect(new Set(await many(call))).toEqual(new Set([2]));
});

test("a call that is refused again is not made a third time, and one that failed otherwise not twice", async () => {
  const { service, clients, call, away } = aService();
  service.refused = 9;
  expect(await rejection(call())).toMatchObject({ message: "GetSecret: Error: login" });
  expect(service.made).toBe(2);
  expect(await rejection(clients.call(() => Promise.reject(away)))).toMatchObject({ problem: "passing" });
  expect(service.made).toBe(2);
});

test("an expected failure is no failure, and an error of the config stays as it is", async () => {
  const { service, clients, send } = aService();
  service.refused = 9;
  expect(await clients.unless(() => true, send)).toBeUndefined();
  const config = new SyncError("CONFIG_TLS", "no");
  expect(
    await rejection(
      clients.unless(
        () => false,
        () => Promise.reject(config),
      ),
    ),
  ).toBe(config);
});

test("where no client can be made, the next call tries it again", async () => {
  const { service, call } = aService();
  service.isAway = true;
  expect(await rejection(many(call))).toMatchObject({ message: "GetSecret: Error: away" });
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
