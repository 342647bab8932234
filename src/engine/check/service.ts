import {
  isSameRefusal,
  type NeutralAnswer,
  type ServiceFailure,
} from "../../core/failure/service-failure.ts";
import { asFinding, type Finding, failure, ok, warning } from "../../core/report/finding.ts";
import type { GroupService, ReachedService } from "../../ports/group-service.ts";
import { isClearRefusal, neutralAnswer } from "../service/neutral-requests.ts";

const DAY = 86_400_000;
/** A certificate that ends sooner should have been renewed by now. */
const RENEWED_BY = 14 * DAY;

/**
 * The path to the service, whether something in between refuses a GET with a body, and whether the API key is good. Sends
 * only requests that can change no group: with a good key, a GET could create one.
 */
export async function* serviceFindings(
  reach: () => Promise<ReachedService>,
  service: Pick<GroupService, "getWithWrongKey" | "rotateNobody">,
  now: Date,
): AsyncGenerator<Finding> {
  yield reachedFinding(await reach(), now);
  const toWrongKey = await neutralAnswer(service.getWithWrongKey());
  yield pathFinding(toWrongKey);
  yield keyFinding(await neutralAnswer(service.rotateNobody()), toWrongKey);
}

function reachedFinding({ at, tls }: ReachedService, now: Date): Finding {
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
export function pathFinding(answer: NeutralAnswer): Finding {
  if (answer === null)
    return failure(
      "a GET with a key that is wrong on purpose was answered as if the key was good",
      "check service.base_url: is it the service itself? Something in between may put a key of its own in the place of yours",
    );
  if (!isClearRefusal(answer)) return badAnswer(answer);
  return answer.isJson
    ? ok(`a GET with a body reaches the service, which refuses a wrong key: ${answer.message}`)
    : warning(
        `nobody can tell whether the service refuses a wrong key, or something in between: ${answer.message}`,
        "if nothing between here and the service asks for a login, all is well",
      );
}

/**
 * What the answer to a POST with the real key and a token that no group has shows of the key.
 *
 * | answer to the real key | answer to the wrong key | the key         |
 * |------------------------|-------------------------|-----------------|
 * | the token is refused   | another refusal         | is good         |
 * | the token is refused   | any other               | nobody can tell |
 * | the key is refused     | another refusal         | nobody can tell |
 * | the key is refused     | any other               | is refused      |
 * | a server error in JSON | the key is refused      | nobody can tell |
 * | success                | any                     | nobody can tell |
 * | any other              | any                     | can't be used   |
 */
export function keyFinding(answer: NeutralAnswer, toWrongKey: NeutralAnswer): Finding {
  if (answer === null)
    return unclear("the service says that it gave a new token to a group that there is not");
  const { code, message } = answer;
  const isOtherRefusal = isClearRefusal(toWrongKey) && !isSameRefusal(answer, toWrongKey);
  switch (code) {
    case "REFUSED":
      // The refusal may be of the key: the interface doesn't say how a wrong key is refused.
      return isOtherRefusal
        ? ok(
            `the API key is good: the service refuses a token that no group has, and not the key: ${message}`,
          )
        : unclear(`this refusal may be of the key or of the token: ${message}`);
    case "KEY_REFUSED":
      return isOtherRefusal
        ? unclear(`with the real key, ${message}; with a wrong one, ${toWrongKey.message}`)
        : badAnswer(answer);
    case "SERVICE_ERROR":
      return answer.isJson && toWrongKey?.code === "KEY_REFUSED"
        ? unclear(`the service fails at a token that no group has: ${message}`)
        : badAnswer(answer);
    default:
      return badAnswer(answer);
  }
}

const unclear = (what: string): Finding =>
  warning(
    `nobody can tell whether the API key is good: ${what}`,
    "the first sync tells; if it ends with KEY_REFUSED, check service.api_key",
  );

/** A service that asks for fewer calls may be well a moment later. */
const badAnswer = (answer: ServiceFailure): Finding =>
  asFinding(answer.reaction === "slow" ? "warning" : "failure", answer);
