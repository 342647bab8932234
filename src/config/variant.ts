import { z } from "zod";
import { isRecord } from "./section.ts";

/**
 * A section whose keys depend on what one of them says. Where that is missing, or says nothing that is known, it counts
 * as `otherwise`, which reports it.
 */
export const variant = <Sections extends Readonly<Record<string, z.ZodType>>>(
  key: string,
  otherwise: keyof Sections & string,
  sections: Sections,
) =>
  z
    .preprocess((value) => value ?? {}, z.unknown())
    .transform((value, context) => {
      const named = isRecord(value) ? value[key] : undefined;
      const kind = typeof named === "string" && Object.hasOwn(sections, named) ? named : otherwise;
      const result = sections[kind]?.safeParse(value);
      if (result?.success) return result.data as z.output<Sections[keyof Sections]>;
      for (const { path, message } of result?.error.issues ?? [])
        context.addIssue({ code: "custom", path, message });
      return z.NEVER;
    });
