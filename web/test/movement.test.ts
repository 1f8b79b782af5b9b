import { expect, test } from "vitest";
import type { Answer } from "../src/contract";
import { movement, summary } from "../src/movement";

function ranked(...names: string[]): Answer[] {
  return names.map((entity, place) => ({
    rank: place + 1,
    entity,
    score: -place,
    share: 1 / (place + 2),
    concepts: [],
    paths: [],
  }));
}

test("places gained are positive, places lost negative", () => {
  const { moves } = movement(ranked("c", "a", "b"), ranked("a", "b", "c"));
  expect([...moves].map(([name, { gained }]) => [name, gained])).toEqual([
    ["c", 2],
    ["a", -1],
    ["b", -1],
  ]);
});

test("a newcomer has no earlier place", () => {
  expect(movement(ranked("z"), ranked("a")).moves.get("z")).toEqual({ gained: 0, was: null, wasShare: null });
});

test("answers that are gone are told, best first", () => {
  expect(movement(ranked("b"), ranked("a", "b", "c")).gone.map(({ entity }) => entity)).toEqual(["a", "c"]);
});

test("the summary counts", () => {
  expect(summary(movement(ranked("a", "b"), ranked("a", "b")))).toBe("The order is the same.");
  expect(summary(movement(ranked("b", "z"), ranked("a", "b")))).toBe("2 answers moved. 1 answer dropped out.");
});
