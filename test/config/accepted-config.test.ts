// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, test } from "vitest";
import { acceptedConfig } from "../../src/config/accepted-config.ts";
import { rejection } from "../contracts/collect.ts";

const yaml = (name: string, apiKey = "k3y"): string => `
name: ${name}
service: { base_url: https://dash.example.com, api_key: "${apiKey}" }
source: { url: postgres://app@localhost/crm, table: customers }
group: { id: id, name: company_name }
`;

/** Files that a test can write while the daemon runs. */
function anAcceptedConfig(files: Record<string, string>) {
  const readFile = (path: string): string => {
    const content = files[path];
    if (content !== undefined) return content;
    throw Object.assign(new Error("gone"), { code: "ENOENT" });
  };
  return acceptedConfig("config.yaml", { env: {}, readFile });
}

const thrownBy = (body: () => unknown): Promise<unknown> => rejection((async () => body())());

test("a wrong config is refused at once", async () => {
  expect(await thrownBy(() => anAcceptedConfig({}))).toMatchObject({ code: "CONFIG_UNREADABLE" });
  expect(await thrownBy(() => anAcceptedConfig({ "config.yaml": "name: []" }))).toMatchObject({
    code: "CONFIG_INVALID",
  });
});

describe("the accepted config", () => {
  test("stays while the file is edited and read again, until the new config is accepted", () => {
    const files = { "config.yaml": yaml("eu") };
    const accepted = anAcceptedConfig(files);
    files["config.yaml"] = yaml("us");
    expect(accepted.current().name).toBe("eu");
    const { config, accept } = accepted.reread();
    expect([config.name, accepted.current().name]).toEqual(["us", "eu"]);
    files["config.yaml"] = yaml("asia");
    accept();
    expect(accepted.current().name).toBe("us");
  });

  test.each([
    ["wrong", "name: []", "CONFIG_INVALID"],
    ["empty", "", "CONFIG_INVALID"],
    ["gone", undefined, "CONFIG_UNREADABLE"],
  ])("stays if the file is %s", async (_, text, code) => {
    const files: Record<string, string> = { "config.yaml": yaml("eu") };
    const accepted = anAcceptedConfig(files);
    if (text === undefined) delete files["config.yaml"];
    else files["config.yaml"] = text;
    expect(await thrownBy(() => accepted.reread())).toMatchObject({ code });
    expect(accepted.current().name).toBe("eu");
  });
});

describe("the files of secrets", () => {
  const files = (): Record<string, string> => ({
    "config.yaml": yaml("eu", "${file:/run/secrets/key}"),
    "/run/secrets/key": "old\n",
  });
  const keyOf = (accepted: ReturnType<typeof acceptedConfig>): string =>
    accepted.current().service.api_key.reveal();

  test("are read each time", () => {
    const all = files();
    const accepted = anAcceptedConfig(all);
    expect(keyOf(accepted)).toBe("old");
    all["/run/secrets/key"] = "new\n";
    expect(keyOf(accepted)).toBe("new");
  });

  test("may be missing for a time", async () => {
    const all = files();
    const accepted = anAcceptedConfig(all);
    delete all["/run/secrets/key"];
    expect(await thrownBy(() => accepted.current())).toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("the file /run/secrets/key cannot be read"),
    });
    all["/run/secrets/key"] = "new\n";
    expect(keyOf(accepted)).toBe("new");
  });
});
