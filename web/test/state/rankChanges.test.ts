import { expect, test } from "vitest";
import type { Answer } from "../../src/api/types";
import { compareRankings, summarizeChanges } from "../../src/state/rankChanges";

function ranking(...names: string[]): Answer[] {
  return names.map((entity, index) => ({
    rank: index + 1,
    entity,
    score: -index,
    share: 1 / (index + 2),
    concepts: [],
    paths: [],
    relation: "Consult",
    direction: "out",
  }));
}

test("gained ranks are positive, lost ranks negative", () => {
  const { byEntity } = compareRankings(ranking("c", "a", "b"), ranking("a", "b", "c"));
  expect([...byEntity].map(([name, { gained }]) => [name, gained])).toEqual([
    ["c", 2],
    ["a", -1],
    ["b", -1],
  ]);
});

test("a new answer has no previous rank", () => {
  const change = compareRankings(ranking("z"), ranking("a")).byEntity.get("z");
  expect(change).toEqual({ gained: 0, previousRank: null, previousShare: null });
});

test("removed answers are listed in rank order", () => {
  const { removed } = compareRankings(ranking("b"), ranking("a", "b", "c"));
  expect(removed.map(({ entity }) => entity)).toEqual(["a", "c"]);
});

test("the summary counts changed ranks and removed answers", () => {
  expect(summarizeChanges(compareRankings(ranking("a", "b"), ranking("a", "b")))).toBe("The ranking is unchanged.");
  expect(summarizeChanges(compareRankings(ranking("b", "z"), ranking("a", "b")))).toBe(
    "2 ranks changed. 1 answer dropped out.",
  );
});
