import { describe, expect, test } from "vitest";
import {
  addFact,
  baselineState,
  EMPTY,
  isFactEnabled,
  replaceName,
  setEntity,
  setFactEnabled,
  stateFromExample,
  toQuery,
} from "../../src/state/state";

const visit = { subject: "Harbour Union", relation: "Make a visit", object: "Port City", time: "2024-03-02" };
const consult = { subject: "Port City", relation: "Consult", object: "Harbour Union", time: "2024-03-05" };
const query = { ...EMPTY, entity: "Harbour Union", relation: "Praise", at: "2024-04-01" };
const state = addFact(addFact(query, visit), consult);

describe("toQuery", () => {
  test("returns null while an input is missing", () => {
    expect(toQuery(EMPTY)).toBeNull();
    expect(toQuery({ ...state, at: "" })).toBeNull();
  });

  test("puts the entity at the chosen side", () => {
    expect(toQuery(state)).toMatchObject({ subject: "Harbour Union", facts: [visit, consult] });
    const reversed = toQuery({ ...state, side: "object" });
    expect(reversed).toMatchObject({ object: "Harbour Union" });
    expect(reversed).not.toHaveProperty("subject");
  });

  test("excludes disabled facts, in case the service knows them", () => {
    expect(toQuery(setFactEnabled(state, visit, false))).toMatchObject({ facts: [consult], without: [visit] });
  });

  test("contains as_of only if it is set", () => {
    expect(toQuery(state)).not.toHaveProperty("as_of");
    expect(toQuery({ ...state, asOf: "2024-03-31" })).toMatchObject({ as_of: "2024-03-31" });
  });

  test("contains hindsight only if it is on", () => {
    expect(toQuery(state)).not.toHaveProperty("hindsight");
    expect(toQuery({ ...state, hindsight: true })).toMatchObject({ hindsight: true });
  });
});

describe("facts", () => {
  test("are listed once", () => {
    expect(addFact(state, { ...visit })).toEqual(state);
  });

  test("are enabled if they are added again", () => {
    expect(addFact(setFactEnabled(state, visit, false), visit)).toEqual(state);
  });

  test("of the service can be excluded and included again", () => {
    const known = { subject: "A", relation: "Consult", object: "B", time: "2024-01-01" };
    const excluded = setFactEnabled(state, { ...known }, false);
    expect(excluded.without).toEqual([known]);
    expect(isFactEnabled(excluded, known)).toBe(false);
    expect(setFactEnabled(excluded, known, true)).toEqual(state);
  });
});

test("a new entity keeps the facts that mention it, and the query", () => {
  const next = setEntity(setFactEnabled(state, consult, false), "Port City");
  expect(next.facts).toEqual([
    { fact: visit, enabled: true },
    { fact: consult, enabled: false },
  ]);
  expect(setEntity(state, "Other Entity").facts).toEqual([]);
  expect(setEntity(state, "Other Entity").relation).toBe("Praise");
});

describe("baselineState", () => {
  test("is null if nothing is restricted", () => {
    expect(baselineState(state)).toBeNull();
  });

  test("enables all facts and keeps asOf", () => {
    const restricted = { ...setFactEnabled(state, consult, false), asOf: "2024-03-31" };
    expect(baselineState(restricted)).toEqual({ ...state, asOf: "2024-03-31" });
  });

  test("removes asOf if all facts are enabled", () => {
    expect(baselineState({ ...state, asOf: "2024-03-31" })).toEqual(state);
  });
});

test("an example that predicts the subject puts its object as the entity", () => {
  const example = stateFromExample({ facts: [visit], object: "Port City", relation: "Make a visit", at: "2024-05-01" });
  expect(example).toMatchObject({ entity: "Port City", side: "object", facts: [{ fact: visit, enabled: true }] });
});

test("replaceName replaces a name in all facts", () => {
  const replaced = replaceName(state, "Port City", "Port Town");
  expect(replaced.facts.map(({ fact }) => [fact.subject, fact.object])).toEqual([
    ["Harbour Union", "Port Town"],
    ["Port Town", "Harbour Union"],
  ]);
});
