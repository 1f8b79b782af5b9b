import { describe, expect, test } from "vitest";
import { addFact, EMPTY, setFactEnabled, type State } from "../../src/state/state";
import { decodeState, encodeState } from "../../src/state/url";

const fact = { subject: "Ünïon & Co. #1", relation: "a=b|c", object: "100 % \"safe\"", time: "2024-03-02" };
const other = { subject: "A+B", relation: "Consult", object: "Ünïon & Co. #1", time: "2024-03-05" };
const full: State = {
  ...setFactEnabled(addFact(addFact(EMPTY, fact), other), other, false),
  entity: "Ünïon & Co. #1",
  without: [{ subject: "X", relation: "y", object: "Z", time: "17" }],
  side: "object",
  relation: "a=b|c",
  at: "2024-04-01",
  asOf: "2024-03-31",
  hindsight: true,
  selected: "X",
  top: 25,
};

describe("URL fragment", () => {
  test("restores the whole state", () => {
    expect(decodeState(`#${encodeState(full)}`)).toEqual(full);
  });

  test("is empty for the empty state", () => {
    expect(encodeState(EMPTY)).toBe("");
    expect(decodeState("")).toEqual(EMPTY);
  });

  test("is stable after decoding and encoding", () => {
    expect(encodeState(decodeState(encodeState(full)))).toBe(encodeState(full));
  });

  test("ignores invalid parameters", () => {
    const state = decodeState("#entity=A&fact=only+two%09fields&top=9999&side=sideways&nonsense=1&at=%20");
    expect(state).toEqual({ ...EMPTY, entity: "A" });
  });

  test("keeps the order of facts", () => {
    expect(decodeState(encodeState(full)).facts.map(({ enabled }) => enabled)).toEqual([true, false]);
  });
});
