import { expect, test } from "vitest";
import type { Evidence, Fact } from "../../src/api/types";
import { evidenceTable } from "../../src/state/evidence";

const fact = (time: string): Fact => ({ subject: "Ann", relation: "Consult", object: "Bob", time });

function source(label: string, contribution: number, facts: Fact[] = [], name = label): Evidence {
  return { source: name, label, contribution, facts };
}

const evidence = [
  source("encoder", 2),
  source("direct path", 0.7, [fact("1"), fact("2")], "path"),
  source("direct path", 0.5, [fact("2")], "path"),
  source("activity", -1),
  source("concepts", 0.04),
  source("names", -0.01),
  source("typical candidate", -8, [], "base"),
];

test("sources with the same label are one row with the facts of both", () => {
  const row = evidenceTable(evidence).rows.find(({ label }) => label === "direct path (2)");
  expect(row?.contribution).toBeCloseTo(1.2);
  expect(row?.facts).toEqual([fact("1"), fact("2")]);
});

test("rows are ordered by size, small contributions are summed at the end, and the base is separate", () => {
  const { rows, base } = evidenceTable(evidence);
  expect(rows.map(({ label }) => label)).toEqual(["encoder", "direct path (2)", "activity", "all others (2)"]);
  expect(rows.at(-1)?.contribution).toBeCloseTo(0.03);
  expect(base).toMatchObject({ label: "typical candidate", contribution: -8 });
});

test("rows and base add up to the total", () => {
  const { rows, base, total } = evidenceTable(evidence);
  const sum = rows.reduce((all, { contribution }) => all + contribution, base?.contribution ?? 0);
  expect(sum).toBeCloseTo(total);
  expect(total).toBeCloseTo(-5.77);
});

test("the longest bar belongs to the largest contribution in either direction", () => {
  expect(evidenceTable(evidence).rows.map(({ length }) => Number(length.toFixed(3)))).toEqual([1, 0.6, 0.5, 0.015]);
});

test("there are no rows without evidence", () => {
  expect(evidenceTable([])).toEqual({ rows: [], base: null, total: 0 });
});
