import {
  type Reaction,
  SERVICE_FAILURES,
  type ServiceFailureCode,
} from "../../src/core/failure/service-failure.ts";
import { markdownTable } from "./markdown-table.ts";

/** Without the failure that no answer shows by itself. */
type AnswerCode = Exclude<ServiceFailureCode, "TOKEN_SHARED">;

/** Every way in which a call to the service can fail, and what groupsync does then. */
export const serviceFailures = (): string =>
  markdownTable(
    ["the service's answer", "code", "groupsync", "may the call have taken effect?"],
    (Object.keys(ANSWERS) as AnswerCode[]).map((code) => {
      const { reaction, mayHaveHappened } = SERVICE_FAILURES[code];
      const does = EXCEPTIONS[code] ?? REACTIONS[reaction];
      return [ANSWERS[code], `\`${code}\``, does, mayHaveHappened ? "yes" : "no"];
    }),
  );

/** As `adapters/service/answer.ts` decides. */
const ANSWERS: Readonly<Record<AnswerCode, string>> = {
  REFUSED: "2xx with `success: 0`, or any other 4xx in JSON",
  KEY_REFUSED: "401, or 403 without HTML",
  INTERMEDIARY_REFUSED: "400, 403 or 405 with HTML to a GET",
  THROTTLED: "429",
  OVERLOADED: "503",
  UNREACHABLE: "none: groupsync can't connect",
  TIMEOUT: "none within `service.timeout`, or 408",
  CONNECTION_LOST: "none: the connection breaks",
  SERVICE_ERROR: "any other 5xx",
  BAD_RESPONSE:
    "anything else, such as a redirect, no JSON, more than 1 MiB, another group, or a wrong token",
};

const EXCEPTIONS: Readonly<Partial<Record<AnswerCode, string>>> = {
  OVERLOADED: "slows down. After eight refusals, fails this group",
  UNREACHABLE: "tries eight times, then ends the run",
};

const REACTIONS: Readonly<Record<Reaction, string>> = {
  ask: "fails this group, or [ends the run](#whom-a-401-or-403-is-about)",
  slow: "slows down. After eight refusals while other calls passed, fails this group",
  retry: "tries eight times, then fails this group",
  fail: "fails this group",
};
