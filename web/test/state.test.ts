import { describe, expect, test } from "vitest";
import { baselineOf, corrected, EMPTY, isOn, ofExample, questionOf, switched, withActor, withFact } from "../src/state";

const visit = { subject: "Harbour Union", relation: "Make a visit", object: "Port City", time: "2024-03-02" };
const talk = { subject: "Port City", relation: "Consult", object: "Harbour Union", time: "2024-03-05" };
const asked = { ...EMPTY, actor: "Harbour Union", relation: "Praise", at: "2024-04-01" };
const two = withFact(withFact(asked, visit), talk);

describe("a question", () => {
  test("is not asked while something is missing", () => {
    expect(questionOf(EMPTY)).toBeNull();
    expect(questionOf({ ...two, at: "" })).toBeNull();
  });

  test("names the actor at its end", () => {
    expect(questionOf(two)).toMatchObject({ subject: "Harbour Union", facts: [visit, talk] });
    const turned = questionOf({ ...two, side: "object" });
    expect(turned).toMatchObject({ object: "Harbour Union" });
    expect(turned).not.toHaveProperty("subject");
  });

  test("leaves out facts that are off, even where the service knows them by itself", () => {
    expect(questionOf(switched(two, visit, false))).toMatchObject({ facts: [talk], without: [visit] });
  });

  test("has a date of knowledge only where one is set", () => {
    expect(questionOf(two)).not.toHaveProperty("as_of");
    expect(questionOf({ ...two, asOf: "2024-03-31" })).toMatchObject({ as_of: "2024-03-31" });
  });
});

describe("a fact", () => {
  test("is noted once", () => {
    expect(withFact(two, { ...visit })).toEqual(two);
  });

  test("that is noted again is switched on again", () => {
    expect(withFact(switched(two, visit, false), visit)).toEqual(two);
  });

  test("that the service knows is set aside and brought back", () => {
    const known = { subject: "A", relation: "Consult", object: "B", time: "2024-01-01" };
    const aside = switched(two, { ...known }, false);
    expect(aside.without).toEqual([known]);
    expect(isOn(aside, known)).toBe(false);
    expect(switched(aside, known, true)).toEqual(two);
  });
});

test("another actor starts with the facts that mention it", () => {
  const next = withActor(switched(two, talk, false), "Port City");
  expect(next.facts).toEqual([
    { fact: visit, on: true },
    { fact: talk, on: false },
  ]);
  expect(withActor(two, "Somebody").facts).toEqual([]);
  expect(withActor(two, "Somebody").relation).toBe("Praise");
});

describe("answers are compared with", () => {
  test("nothing while all is known", () => {
    expect(baselineOf(two)).toBeNull();
  });

  test("every fact on, at the same date of knowledge", () => {
    const off = { ...switched(two, talk, false), asOf: "2024-03-31" };
    expect(baselineOf(off)).toEqual({ ...two, asOf: "2024-03-31" });
  });

  test("what is known today where only the date of knowledge is set", () => {
    expect(baselineOf({ ...two, asOf: "2024-03-31" })).toEqual(two);
  });
});

test("an example that asks for the subject makes the object the actor", () => {
  const state = ofExample({ facts: [visit], object: "Port City", relation: "Make a visit", at: "2024-05-01" });
  expect(state).toMatchObject({ actor: "Port City", side: "object", facts: [{ fact: visit, on: true }] });
});

test("a wrong name is put right wherever it stands", () => {
  const right = corrected(two, "Port City", "Port Town");
  expect(right.facts.map(({ fact }) => [fact.subject, fact.object])).toEqual([
    ["Harbour Union", "Port Town"],
    ["Port Town", "Harbour Union"],
  ]);
});
