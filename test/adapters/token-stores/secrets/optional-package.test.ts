import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  OPTIONAL_PACKAGES,
  optional,
} from "../../../../src/adapters/token-stores/secrets/optional-package.ts";
import { rejection } from "../../../contracts/collect.ts";

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
    readFileSync(new URL("../../../../package.json", import.meta.url), "utf8"),
  );
  const named = Object.values(OPTIONAL_PACKAGES).flat();
  const installed = named.map((one) => {
    const name = one.slice(0, one.lastIndexOf("@"));
    return `${name}@${devDependencies[name]}`;
  });
  expect(installed).toEqual(named);
});
