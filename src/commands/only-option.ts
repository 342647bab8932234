import { Option } from "commander";

/** `--only` of a command, which may be given several times. */
export const onlyOption = (description: string): Option =>
  new Option("--only <ID>", `${description} (repeatable)`).argParser(
    (id: string, ids: readonly string[] = []): readonly string[] => [...ids, id],
  );

/** `--only` of `sync` and `plan`. */
export const onlyTenants = (): Option => onlyOption("this tenant alone, even if its next try is not due");
