import { Console } from "node:console";
import { PassThrough } from "node:stream";
import { format, inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/core/secret/secret.ts";

const VALUE = "ugt_4f1e";
const secret = new Secret(VALUE);
const holder = { group: { tokens: [secret], byId: new Map([["acme", secret]]) } };

describe("a secret", () => {
  it("is revealed on purpose", () => {
    expect(secret.reveal()).toBe(VALUE);
    expect(secret.equals(new Secret(VALUE))).toBe(true);
    expect(secret.equals(new Secret("other"))).toBe(false);
  });

  it.each<[string, () => string]>([
    ["String", () => String(secret)],
    ["a template", () => `${secret}`],
    ["joining", () => [secret, secret].join()],
    ["JSON.stringify", () => JSON.stringify(holder)],
    ["util.inspect", () => inspect(holder, { depth: null })],
    ["util.inspect of everything hidden", () => inspect(holder, { depth: null, showHidden: true })],
    ["util.inspect without custom ones", () => inspect(holder, { depth: null, customInspect: false })],
    ["util.format", () => format("%s %o %O %j", secret, holder, holder, holder)],
    ["an error's stack", () => inspect(new Error(`refused ${secret}`, { cause: holder }))],
    ["its own keys", () => Reflect.ownKeys(secret).join()],
    ["a structured clone", () => JSON.stringify(structuredClone({ ...secret }))],
  ])("is not printed by %s", (_, print) => {
    expect(print()).not.toContain(VALUE);
  });

  it("is not printed by console.log, however deep it is", () => {
    const output = new PassThrough({ encoding: "utf8" });
    new Console(output).log("%s", holder, secret, [holder]);
    const written = output.read() as string;
    expect(written).toContain("[secret]");
    expect(written).not.toContain(VALUE);
  });
});
