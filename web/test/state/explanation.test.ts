import { expect, test } from "vitest";
import type { Explanation, Fact, FactEffect, Path } from "../../src/api/types";
import {
  baseRateText,
  kindTitle,
  necessaryText,
  pathNote,
  pathTitle,
  placeText,
  repeatsText,
  splitByEffect,
  sufficientText,
  togetherText,
  withoutFactText,
  withoutPathText,
} from "../../src/state/explanation";

const fact: Fact = { subject: "Ann", relation: "Consult", object: "Bob", time: "2024-05-01" };
const effect: FactEffect = { ...fact, share_without: 0.1234, rank_without: 4, effect: 0.5, together: [] };
const step = { ...fact, probability: null, confidence: null, forward: true, after_question: false };
const path: Path = {
  steps: [step, { ...step, time: "2024-05-02" }],
  kind: "path",
  is_context: false,
  log_prob: -1,
  also: [],
  share_without: null,
  rank_without: null,
  text: "",
};

function explanation(parts: Partial<Explanation>): Explanation {
  const empty = { evidence: [], facts: [], necessary: [], sufficient: [], paths: [], concepts: [], later: [] };
  const query = { subject: "Ann", relation: "Consult", object: null, at: "2024-06-01", top: 10, paths: 3, without: [] };
  return {
    ...empty,
    query: { ...query, as_of: null, hindsight: false, horizon: null, min_share: 0 },
    entity: "Bob",
    rank: 1,
    score: -1,
    share: 0.4,
    relation: "Consult",
    direction: "out",
    summary: "",
    kind: "path",
    base_rate: 0.02,
    considered: 20,
    without_necessary: null,
    with_sufficient: null,
    ...parts,
  };
}

test("a place is share and rank, or no answer", () => {
  expect(placeText({ share: 0.123, rank: 4 })).toBe("12.3 % · rank 4");
  expect(placeText({ share: 0, rank: null })).toBe("no answer");
  expect(withoutFactText(effect)).toBe("without it: 12.3 % · rank 4");
  expect(withoutFactText({ ...effect, share_without: 0, rank_without: null })).toBe("without it: no answer");
});

test.each([
  ["path", "Explained by paths from the entity"],
  ["peers", "Explained by peers of the entity"],
  ["base rate", "Explained by the base rate"],
  ["learned", "Explained by what the model has learned"],
  ["facts", "Explained by single facts"],
  [null, "Not an answer of the model"],
] as const)("the heading of kind %s is %s", (kind, title) => {
  expect(kindTitle(explanation({ kind }))).toBe(title);
});

test.each([
  [0.02, "2.0 % of the known “Consult” facts of other entities have this answer; its share is 20 times as high."],
  [0.16, "16.0 % of the known “Consult” facts of other entities have this answer; its share is 2.5 times as high."],
  [0.4, "40.0 % of the known “Consult” facts of other entities have this answer, about as many as its share."],
  [0.8, "80.0 % of the known “Consult” facts of other entities have this answer, more than its share."],
  [0, "none of the known “Consult” facts of other entities has this answer."],
])("the base rate %f is compared with the share", (base_rate, text) => {
  expect(baseRateText(explanation({ base_rate }))).toBe(`Base rate: ${text}`);
});

test("repeated paths name their times, at most five", () => {
  expect(repeatsText(path)).toBeNull();
  expect(repeatsText({ ...path, also: [["2024-01-01", "2024-01-02"]] })).toBe(
    "twice: 2024-05-01 / 2024-05-02, 2024-01-01 / 2024-01-02",
  );
  const single = { ...path, steps: [step], also: ["1", "2", "3", "4", "5", "6"].map((time) => [time]) };
  expect(repeatsText(single)).toBe("7 times: 2024-05-01, 1, 2, 3, 4 and 2 more");
});

test("the note of a path has its repetitions and what is left without it", () => {
  expect(pathNote(path)).toBe("");
  expect(withoutPathText(path)).toBeNull();
  const measured = { ...path, also: [["1", "2"], ["3", "4"]], share_without: 0, rank_without: null };
  expect(pathNote(measured)).toBe("3 times\nwithout it: no answer");
  expect(withoutPathText(measured)).toBe("without this path: no answer");
});

test("the title of a path says its kind", () => {
  const titles = (["path", "peers", "context"] as const).map((kind, index) => pathTitle({ ...path, kind }, index + 1));
  expect(titles).toEqual(["Path 1", "Peers 2", "Related fact 3"]);
});

test("facts with a joint effect are named", () => {
  expect(togetherText(effect)).toBeNull();
  expect(togetherText({ ...effect, together: [fact] })).toBe(
    "Without it and Ann —Consult→ Bob (2024-05-01), more is lost than by leaving out each alone.",
  );
});

test("the necessary and the sufficient set are one sentence each", () => {
  expect(necessaryText(explanation({ necessary: [fact], without_necessary: { share: 0.05, rank: 3 } }))).toBe(
    "Necessary: without this fact it falls to rank 3 (5.0 %).",
  );
  expect(necessaryText(explanation({ necessary: [fact, fact], without_necessary: { share: 0, rank: null } }))).toBe(
    "Necessary: without these 2 facts it is no answer.",
  );
  expect(necessaryText(explanation({}))).toContain("No set of the 20 considered facts");
  expect(sufficientText(explanation({ sufficient: [fact, fact], with_sufficient: { share: 0.3, rank: 1 } }))).toBe(
    "Sufficient: with only these 2 facts of the 20 considered it has rank 1 (30.0 %).",
  );
  expect(sufficientText(explanation({}))).toBe("Sufficient: no small set keeps the answer at its place.");
});

test("facts with small effects are split off, but not those without which there is no answer", () => {
  const weak = { ...effect, effect: 0.004 };
  const against = { ...effect, effect: -0.2 };
  const last = { ...effect, effect: 0, rank_without: null };
  expect(splitByEffect([effect, weak, against, last])).toEqual([[effect, against, last], [weak]]);
});
