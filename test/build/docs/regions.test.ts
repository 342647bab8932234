import { expect, test } from "vitest";
import { regenerated } from "../../../build/docs/regions.ts";

const generators = { greeting: (...names: readonly string[]) => `Hello, ${names.join(" and ") || "world"}!` };
const region = (words: string, text = "old\n") => `<!-- generated: ${words} -->\n${text}<!-- end -->`;

test("each region gets its text, and all else stays as it is", async () => {
  const page = `# Page\n\n${region("greeting", "")}\n\nBetween $& two\n\n${region("greeting Ada\n  Bob")}\n`;
  const right = await regenerated(page, generators);
  expect(right).toBe(
    "# Page\n\n<!-- generated: greeting -->\n\nHello, world!\n\n<!-- end -->\n\nBetween $& two\n\n" +
      "<!-- generated: greeting Ada\n  Bob -->\n\nHello, Ada and Bob!\n\n<!-- end -->\n",
  );
  expect(await regenerated(right, generators)).toBe(right);
});

test.each([
  ["a region without an end", "<!-- generated: greeting -->\ntext\n", "1 regions begin, and 0 end"],
  ["a region inside of another", `<!-- generated: greeting -->\n${region("greeting")}`, "2 regions begin"],
  ["a name that nobody knows", region("gretting"), "nobody makes the text of <!-- generated: gretting -->"],
])("%s is an error", async (_, page, message) => {
  await expect(regenerated(page, generators)).rejects.toThrow(message);
});
