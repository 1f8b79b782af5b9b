/** The contributions to a score as rows of a chart. */

import type { Evidence, Fact } from "../api/types";
import { factKey } from "./state";

export interface EvidenceRow {
  readonly label: string;
  /** In nats. */
  readonly contribution: number;
  readonly facts: readonly Fact[];
  /** Length of the bar relative to the longest one, from 0 to 1. */
  readonly length: number;
}

export interface EvidenceTable {
  /** Largest contribution first; small ones are one row at the end. */
  readonly rows: readonly EvidenceRow[];
  /** The score of a typical candidate, to which the rows are added; null if the service reports none. */
  readonly base: EvidenceRow | null;
  /** Sum of the rows and the base. */
  readonly total: number;
}

/** Smaller contributions are summed in one row. */
export const SMALL_CONTRIBUTION = 0.05;
const BASE = "base";

/** Sources with the same label, such as several paths by way of one entity, are one row. Bars do not include the base. */
export function evidenceTable(evidence: readonly Evidence[]): EvidenceTable {
  const base = evidence.find(({ source }) => source === BASE);
  const merged = mergeByLabel(evidence.filter((source) => source !== base));
  const isSmall = ({ contribution }: EvidenceRow): boolean => Math.abs(contribution) < SMALL_CONTRIBUTION;
  const large = merged.filter((row) => !isSmall(row)).sort((one, other) => magnitude(other) - magnitude(one));
  const small = merged.filter(isSmall);
  const rows = small.length ? [...large, { ...sumOf(small), label: othersLabel(small.length) }] : large;
  const longest = Math.max(...rows.map(magnitude), SMALL_CONTRIBUTION);
  return {
    rows: rows.map((row) => ({ ...row, length: magnitude(row) / longest })),
    base: base ? { ...toRow(base), length: 0 } : null,
    total: evidence.reduce((sum, { contribution }) => sum + contribution, 0),
  };
}

function mergeByLabel(evidence: readonly Evidence[]): EvidenceRow[] {
  const byLabel = new Map<string, EvidenceRow[]>();
  for (const source of evidence) byLabel.set(source.label, [...(byLabel.get(source.label) ?? []), toRow(source)]);
  return [...byLabel].map(([label, rows]) => ({
    ...sumOf(rows),
    label: rows.length > 1 ? `${label} (${rows.length})` : label,
  }));
}

function sumOf(rows: readonly EvidenceRow[]): Omit<EvidenceRow, "label"> {
  const facts = new Map(rows.flatMap((row) => row.facts).map((fact) => [factKey(fact), fact]));
  return {
    contribution: rows.reduce((sum, { contribution }) => sum + contribution, 0),
    facts: [...facts.values()],
    length: 0,
  };
}

function toRow({ label, contribution, facts }: Evidence): EvidenceRow {
  return { label, contribution, facts, length: 0 };
}

function othersLabel(count: number): string {
  return count > 1 ? `all others (${count})` : "all others";
}

function magnitude({ contribution }: EvidenceRow): number {
  return Math.abs(contribution);
}
