import { Command } from "commander";
import { type ErrorHelp, errorHelp, KNOWN_CODES } from "../core/failure/error-codes.ts";
import { asSentence } from "../core/text/printable.ts";
import type { CommandContext } from "./context.ts";

/** `groupsync help`: what an error code means, without a network or docs at hand; or the help of a command. */
export const helpCommand = ({ io, pages }: CommandContext): Command =>
  new Command("help")
    .description("show what an error code means and what helps; or the help of a command")
    .argument("[WHAT]", "an error code such as KEY_REFUSED, or a command")
    .action(async (what: string | undefined, _: object, command: Command) => {
      const root = command.parent ?? command;
      if (what === undefined) return root.outputHelp();
      const named = root.commands.find((other) => other.name() === what);
      if (named) return named.outputHelp();
      const code = what.toUpperCase();
      const help = errorHelp(code);
      if (help) return io.stdout(helpText(code, help, pages));
      const { closestMatch } = await import("leven");
      const near = closestMatch(code, KNOWN_CODES);
      command.error(
        `error: there is no error code or command '${what}'${near === undefined ? "" : `; did you mean ${near}?`}`,
      );
    });

/** Names pages only if they are there to be read. */
function helpText(code: string, { meaning, action, links }: ErrorHelp, pages: string | undefined): string {
  const isMore = pages !== undefined && links.length > 0;
  const more = isMore ? `\nMore: ${links.map((link) => `${pages}/${link}`).join(", ")}\n` : "";
  return `${code}\n\n${asSentence(meaning)}\n\nWhat to do: ${asSentence(action)}\n${more}`;
}
