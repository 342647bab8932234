// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, test } from "vitest";
import { HeldConfig } from "../../src/config/held-config.ts";
import { rejection } from "../contracts/collect.ts";

const yaml = (name: string, apiKey = "k3y"): string => `
name: ${name}
service: { base_url: https://dash.example.com, api_key: "${apiKey}" }
source: { url: postgres://app@db/crm, table: customers }
group: { id: id, name: company_name }
`;

/** Files that a test can write while the daemon runs. */
function aHeldConfig(files: Record<string, string>) {
  const readFile = (path: string): string => {
    const content = files[path];
    if (content !== undefined) return content;
    throw Object.assign(new Error("gone"), { code: "ENOENT" });
  };
  return new HeldConfig("config.yaml", { env: {}, readFile });
}

const thrownBy = (body: () => unknown): Promise<unknown> => rejection((async () => body())());

test("is refused at once where it is wrong", async () => {
  expect(await thrownBy(() => aHeldConfig({}))).toMatchObject({ code: "CONFIG_UNREADABLE" });
  expect(await thrownBy(() => aHeldConfig({ "config.yaml": "name: []" }))).toMatchObject({
    code: "CONFIG_INVALID",
  });
});

describe("the config in force", () => {
  test("stays while the file is edited, and after it was read again, until it is taken", () => {
    const files = { "config.yaml": yaml("eu") };
    const held = aHeldConfig(files);
    files["config.yaml"] = yaml("us");
    expect(held.current().name).toBe("eu");
    const { config, take } = held.reread();
    expect([config.name, held.current().name]).toEqual(["us", "eu"]);
    files["config.yaml"] = yaml("asia");
    take();
    expect(held.current().name).toBe("us");
  });

  test.each([
    ["wrong", "name: []", "CONFIG_INVALID"],
    ["empty", "", "CONFIG_INVALID"],
    ["gone", undefined, "CONFIG_UNREADABLE"],
  ])("stays where the file is %s", async (_, text, code) => {
    const files: Record<string, string> = { "config.yaml": yaml("eu") };
    const held = aHeldConfig(files);
    if (text === undefined) delete files["config.yaml"];
    else files["config.yaml"] = text;
    expect(await thrownBy(() => held.reread())).toMatchObject({ code });
    expect(held.current().name).toBe("eu");
  });
});

describe("the files that it names", () => {
  const files = (): Record<string, string> => ({
    "config.yaml": yaml("eu", "${file:/run/secrets/key}"),
    "/run/secrets/key": "old\n",
  });
  const keyOf = (held: HeldConfig): string => held.current().service.apiKey.reveal();

  test("are read anew each time", () => {
    const all = files();
    const held = aHeldConfig(all);
    expect(keyOf(held)).toBe("old");
    all["/run/secrets/key"] = "new\n";
    expect(keyOf(held)).toBe("new");
  });

  test("may be away for a time", async () => {
    const all = files();
    const held = aHeldConfig(all);
    delete all["/run/secrets/key"];
    expect(await thrownBy(() => held.current())).toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("the file /run/secrets/key cannot be read"),
    });
    all["/run/secrets/key"] = "new\n";
    expect(keyOf(held)).toBe("new");
  });
});
