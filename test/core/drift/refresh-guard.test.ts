import { expect, test } from "vitest";
import { describeHeldRefresh } from "../../../src/core/drift/refresh.ts";

const hold = { gone: 5, owned: 8, allowed: 1, approval: "abc" };
const GONE =
  "the refresh is held: 5 groups were gone at the service in 24 hours and made again, and deletion.limit lets 1 of 8 groups go";

test.each([
  [0, GONE],
  [1, `${GONE}; 1 group is not asked for`],
  [7, `${GONE}; 7 groups are not asked for`],
])(
  "a refresh that is held with %i groups left to ask for says why, and how many they are",
  (count, message) => {
    expect(describeHeldRefresh(hold, count)).toMatchObject({ code: "REFRESH_HELD", message, count });
  },
);
