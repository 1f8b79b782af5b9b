import { describe, expect, test } from "vitest";
import { linkOf, stateOf } from "../src/link";
import { EMPTY, switched, withFact, type State } from "../src/state";

const fact = { subject: "Ünïon & Co. #1", relation: "a=b|c", object: "100 % \"safe\"", time: "2024-03-02" };
const other = { subject: "A+B", relation: "Consult", object: "Ünïon & Co. #1", time: "2024-03-05" };
const full: State = {
  ...switched(withFact(withFact(EMPTY, fact), other), other, false),
  actor: "Ünïon & Co. #1",
  without: [{ subject: "X", relation: "y", object: "Z", time: "17" }],
  side: "object",
  relation: "a=b|c",
  at: "2024-04-01",
  asOf: "2024-03-31",
  pick: "X",
  top: 25,
};

describe("a link", () => {
  test("brings the whole state back", () => {
    expect(stateOf(`#${linkOf(full)}`)).toEqual(full);
  });

  test("of an empty page is empty", () => {
    expect(linkOf(EMPTY)).toBe("");
    expect(stateOf("")).toEqual(EMPTY);
  });

  test("is the same for the same state", () => {
    expect(linkOf(stateOf(linkOf(full)))).toBe(linkOf(full));
  });

  test("with nonsense in it is read as far as it can be", () => {
    const state = stateOf("#actor=A&fact=only+two%09fields&top=9999&side=sideways&nonsense=1&at=%20");
    expect(state).toEqual({ ...EMPTY, actor: "A" });
  });

  test("keeps the order of facts", () => {
    expect(stateOf(linkOf(full)).facts.map(({ on }) => on)).toEqual([true, false]);
  });
});
