// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { interpolate } from "../../src/config/interpolate.ts";

const files: Record<string, string> = {
  "/run/key": "k3y\n",
  "/run/two": "a\n\n",
  "/run/crlf": "k3y\r\n",
  "/run/none": "\n",
};
const sources = {
  env: { HOST: "db", EMPTY: "", NESTED: "${HOST} $$ $" },
  readFile: (path: string) => {
    if (path === "/dev/zero") throw Object.assign(new Error("too big"), { code: "EFBIG" });
    const content = files[path];
    if (content === undefined) throw Object.assign(new Error("gone"), { code: "ENOENT" });
    return content;
  },
};

describe("interpolation", () => {
  it.each([
    ["postgres://${HOST}:${PORT:-5432}/x", "postgres://db:5432/x"],
    ["${EMPTY:-none}", "none"],
    ["${EMPTY:-}", ""],
    ["${HOST:-a:-b}", "db"],
    ["${NO:-a:-b}", "a:-b"],
    ["${NESTED}", "${HOST} $$ $"],
    ["${file:/run/key}", "k3y"],
    ["${file:/run/two}", "a\n"],
    ["${file:/run/crlf}", "k3y"],
    ["$HOST costs 5$ or $5", "$HOST costs 5$ or $5"],
    ["$${HOST}", "${HOST}"],
    ["$$${HOST}", "$db"],
  ])("%s becomes %j", (text, expected) => {
    expect(interpolate(text, sources)).toEqual({ text: expected, problems: [] });
  });

  it.each([
    ["${NO}", "the environment variable NO is not set; set it where groupsync is started"],
    ["${EMPTY}", "the environment variable EMPTY is empty; set it where groupsync is started"],
    ["${constructor}", "the environment variable constructor is not set; set it where groupsync is started"],
    ["a ${HOST", "a ${ is not closed by }; write $$ for a dollar"],
    ["${}", "a ${…} must hold NAME, NAME:-default or file:/path; write $$ for a dollar"],
    ["${p@ss}", "a ${…} must hold NAME, NAME:-default or file:/path; write $$ for a dollar"],
    ["${NO:-${HOST}}", "a ${…} must hold NAME, NAME:-default or file:/path; write $$ for a dollar"],
    ["${file:}", "a ${file:…} must name a file, like ${file:/run/secrets/api-key}"],
    ["${file:/gone}", "the file /gone cannot be read (ENOENT); does it exist, and may this user read it?"],
    ["${file:/dev/zero}", "the file /dev/zero is larger than any secret; is it the right one?"],
    ["${file:/run/none}", "the file /run/none is empty; write the value into it"],
  ])("%s is a problem", (text, problem) => {
    expect(interpolate(text, sources).problems).toEqual([problem]);
  });

  it("reports every reference of a text", () => {
    const { text, problems } = interpolate("${A} ${HOST} ${B}", sources);
    expect(text).toBe("${A} db ${B}");
    expect(problems).toHaveLength(2);
  });

  it("gives any text back whose dollars are doubled", () => {
    const dollars = fc.string({ unit: fc.constantFrom("$", "{", "}", ":", "-", "H", "é", "\n") });
    fc.assert(
      fc.property(dollars, (text) => {
        const escaped = text.replaceAll("$", "$$$$");
        expect(interpolate(escaped, sources)).toEqual({ text, problems: [] });
      }),
    );
  });
});
