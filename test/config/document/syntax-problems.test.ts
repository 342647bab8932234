// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, it } from "vitest";
import { problemsOf } from "../config-file.ts";

describe("text that is not YAML", () => {
  it("is reported line by line, and no further problems are guessed", () => {
    const yaml =
      "service:\n\ttimeout: 1\n\tupdate: @2\nsource: { url: ${DATABASE_URL} }\nschedule: x\n---\nname: x\n";
    expect(problemsOf(yaml)).toBe(`config.yaml has 4 problems:
  line 2  a tab is used as indentation; use spaces
  line 3  a tab is used as indentation; use spaces
  line 4  this is not YAML; put a value with braces in it in quotes: "\${NAME}", "{{ column }}"
  line 6  a second document starts here; a config is one document: remove the line ---`);
  });
});
