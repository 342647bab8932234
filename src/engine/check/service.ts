import {
  SERVICE_FAILURES,
  ServiceFailure,
  type ServiceFailureCode,
} from "../../core/failure/service-failure.ts";
import { asFinding, type Finding, failure, ok, warning } from "../../core/report/finding.ts";
import type { Reached, ServiceTrial, TrialAnswer } from "../../ports/check.ts";

const DAY = 86_400_000;
/** A certificate that ends sooner should have been renewed by now. */
const RENEWED_BY = 14 * DAY;

/** The path to the service, whether something in between refuses a GET with a body, and whether the API key is good. */
export async function* serviceFindings(trial: ServiceTrial, now: Date): AsyncGenerator<Finding> {
  yield reachedFinding(await trial.reach(), now);
  const refused = await answerTo(trial.getWithWrongKey());
  yield pathFinding(refused);
  yield keyFinding(await answerTo(trial.rotateNobody()), refused);
}

type Answer = TrialAnswer | ServiceFailure;

const answerTo = (request: Promise<TrialAnswer>): Promise<Answer> =>
  request.catch((error: unknown) => {
    if (error instanceof ServiceFailure) return error;
    throw error;
  });

function reachedFinding({ at, tls }: Reached, now: Date): Finding {
  if (tls === null) return ok(`connected to ${at}`);
  const day = tls.validUntil.toISOString().slice(0, 10);
  return tls.validUntil.getTime() - now.getTime() < RENEWED_BY
    ? warning(
        `the certificate of ${at} is valid only until ${day}`,
        "ask the service's operators to renew it: no sync runs after that day",
      )
    : ok(`connected to ${at} by ${tls.protocol}, with a certificate that is valid until ${day}`);
}

/** What the answer to a GET with a body and a wrong key shows of the path to the service. */
export function pathFinding(answer: Answer): Finding {
  if (answer instanceof ServiceFailure) return asFinding("failure", answer);
  const { code, content, text } = answer;
  switch (code) {
    case "KEY_REFUSED":
    case "REFUSED":
      return content === "json"
        ? ok(`a GET with a body reaches the service, which refuses a wrong key: ${text}`)
        : warning(
            `a GET with a wrong key was answered ${text}: nobody can tell whether the service refuses it, or something in between`,
            "if nothing between here and the service asks for a login, all is well",
          );
    case null:
      return failure(
        `a GET with a key that is wrong on purpose was answered ${text}, as if the key was good`,
        "check service.base_url: is it the service itself? Something in between may put a key of its own in the place of yours",
      );
    default:
      return badAnswer(code, `a GET with a body was answered ${text}`);
  }
}

/**
 * What the answer to a POST with the real key and a token that no group has shows of the key. `refused` is the answer to a
 * wrong key.
 *
 * | answer to the real key | answer to the wrong key | the key               |
 * |------------------------|-------------------------|-----------------------|
 * | the token is refused   | another refusal         | is good               |
 * | the token is refused   | the same, or none       | nobody can tell       |
 * | the key is refused     | the same, or none       | is refused            |
 * | the key is refused     | another                 | nobody can tell       |
 * | a server error in JSON | the key is refused      | nobody can tell       |
 * | success                | any                     | nobody can tell       |
 * | any other              | any                     | can't be used         |
 */
export function keyFinding(answer: Answer, refused: Answer): Finding {
  if (answer instanceof ServiceFailure) return asFinding("failure", answer);
  const { code, text } = answer;
  const isSame =
    !(refused instanceof ServiceFailure) && refused.status === answer.status && refused.text === text;
  switch (code) {
    case "REFUSED":
      if (isSame) return unclear(`the real key is answered as a wrong one is: ${text}`);
      // The refusal may be of the key: the interface doesn't say how a wrong key is refused.
      return isRefusal(refused)
        ? ok(`the API key is good: the service refuses a token that no group has, and not the key: ${text}`)
        : unclear(`the real key is answered ${text}, and how a wrong one is refused is not known`);
    case "KEY_REFUSED":
      return isSame || refused instanceof ServiceFailure
        ? asFinding("failure", refusedKey(text))
        : unclear(`a POST with the real key is answered ${text}, and a GET with a wrong one ${refused.text}`);
    case "SERVICE_ERROR":
      return answer.content === "json" &&
        !(refused instanceof ServiceFailure) &&
        refused.code === "KEY_REFUSED"
        ? unclear(`the service fails at a token that no group has: ${text}`)
        : badAnswer(code, `a POST was answered ${text}`);
    case null:
      return unclear(`the service says that it gave a new token to a group that there is not: ${text}`);
    default:
      return badAnswer(code, `a POST was answered ${text}`);
  }
}

const isRefusal = (answer: Answer): boolean => answer.code === "KEY_REFUSED" || answer.code === "REFUSED";

const refusedKey = (text: string): ServiceFailure =>
  new ServiceFailure("KEY_REFUSED", `the service refuses the API key: ${text}`);

const unclear = (what: string): Finding =>
  warning(
    `nobody can tell whether the API key is good: ${what}`,
    "the first sync tells; if it ends with KEY_REFUSED, check service.api_key",
  );

/** A service that asks for fewer calls may be well a moment later. */
function badAnswer(code: ServiceFailureCode, message: string): Finding {
  const { reaction, remedy } = SERVICE_FAILURES[code];
  return asFinding(reaction === "slow" ? "warning" : "failure", { code, message, hint: remedy });
}
