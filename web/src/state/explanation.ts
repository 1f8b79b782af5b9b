/** Texts of an explanation. */

import type { Explanation, Fact, FactEffect, Path, Place } from "../api/types";
import { formatShare, pluralize } from "./format";
import { factKey } from "./state";

const KIND_TITLES = {
  path: "Explained by paths from the entity",
  peers: "Explained by peers of the entity",
  "base rate": "Explained by the base rate",
  learned: "Explained by what the model has learned",
  facts: "Explained by single facts",
} as const;

/** Facts with smaller effects are listed separately. */
export const SMALL_EFFECT = 0.01;
const MAX_REPEATS = 5;
const MIN_FACTOR = 1.5;

/** What the answer rests on most. */
export function kindTitle({ kind }: Explanation): string {
  return kind === null ? "Not an answer of the model" : KIND_TITLES[kind];
}

/** The base rate in one sentence, compared with the share. */
export function baseRateText({ base_rate, share, relation, rank }: Explanation): string {
  const known = `known “${relation}” facts of other entities`;
  if (base_rate === 0) return `Base rate: none of the ${known} has this answer.`;
  const rate = `Base rate: ${formatShare(base_rate)} of the ${known} have this answer`;
  if (rank === null) return `${rate}.`;
  const factor = share / base_rate;
  if (factor >= MIN_FACTOR) return `${rate}; its share is ${formatFactor(factor)} times as high.`;
  return factor > 1 / MIN_FACTOR ? `${rate}, about as many as its share.` : `${rate}, more than its share.`;
}

/** "12.3 % · rank 4", or "no answer". */
export function placeText({ share, rank }: Place): string {
  return rank === null ? "no answer" : `${formatShare(share)} · rank ${rank}`;
}

/** What is left of the answer without the fact. */
export function withoutFactText({ share_without, rank_without }: FactEffect): string {
  return `without it: ${placeText({ share: share_without, rank: rank_without })}`;
}

/** What is left of the answer without the facts of the path; null if it has not been measured. */
export function withoutPathText(path: Path, subject = "this path"): string | null {
  if (path.share_without === null) return null;
  return `without ${subject}: ${placeText({ share: path.share_without, rank: path.rank_without })}`;
}

/** How often the facts of a path occur, and when: "3 times: 2024-01-02, 2024-03-04, 2024-05-06"; null if once. */
export function repeatsText({ steps, also }: Path): string | null {
  if (!also.length) return null;
  const all = [steps.map(({ time }) => time), ...also];
  const shown = all.slice(0, MAX_REPEATS).map((times) => times.join(" / "));
  const more = all.length > MAX_REPEATS ? ` and ${all.length - MAX_REPEATS} more` : "";
  return `${timesText(all.length)}: ${shown.join(", ")}${more}`;
}

/** Lines under the lane of a path in the picture; empty if there is nothing to say. */
export function pathNote(path: Path): string {
  const repeats = path.also.length ? timesText(path.also.length + 1) : null;
  return [repeats, withoutPathText(path, "it")].filter((line) => line !== null).join("\n");
}

/** Heading of a path: its kind and its number. */
export function pathTitle({ kind }: Path, number: number): string {
  return { path: `Path ${number}`, peers: `Peers ${number}`, context: `Related fact ${number}` }[kind];
}

/** What the kind of a path means; null for a path that the model follows. */
export function pathKindText({ kind }: Path): string | null {
  if (kind === "path") return null;
  return kind === "peers"
    ? "by way of an entity with a fact like that of the query entity"
    : "between the answer and another entity";
}

/** The facts with which more is lost than by each alone, in words; null if there are none. */
export function togetherText({ together }: FactEffect): string | null {
  if (!together.length) return null;
  return `Without it and ${together.map(factText).join(" and ")}, more is lost than by leaving out each alone.`;
}

/** What the answer loses without the necessary set. */
export function necessaryText({ necessary, without_necessary, considered }: Explanation): string {
  if (!without_necessary) {
    return `Necessary: none. No set of the ${pluralize(considered, "considered fact")} that was tried takes the answer from its place.`;
  }
  const facts = necessary.length === 1 ? "this fact" : `these ${necessary.length} facts`;
  const { share, rank } = without_necessary;
  const place = rank === null ? "it is no answer" : `it falls to rank ${rank} (${formatShare(share)})`;
  return `Necessary: without ${facts} ${place}.`;
}

/** What the answer keeps with nothing but the sufficient set. */
export function sufficientText({ sufficient, with_sufficient, considered }: Explanation): string {
  if (!with_sufficient || with_sufficient.rank === null) {
    return "Sufficient: no small set keeps the answer at its place.";
  }
  const facts = sufficient.length === 1 ? "this fact" : `these ${sufficient.length} facts`;
  const { share, rank } = with_sufficient;
  return `Sufficient: with only ${facts} of the ${considered} considered it has rank ${rank} (${formatShare(share)}).`;
}

/** Facts whose effects are worth a row, and the rest. */
export function splitByEffect(facts: readonly FactEffect[]): readonly [readonly FactEffect[], readonly FactEffect[]] {
  const matters = ({ effect, rank_without }: FactEffect): boolean => rank_without === null || Math.abs(effect) >= SMALL_EFFECT;
  return [facts.filter(matters), facts.filter((fact) => !matters(fact))];
}

/** A fact as text: "Ann —Consult→ Bob (2024-05-06)". */
export function factText({ subject, relation, object, time }: Fact): string {
  return `${subject} —${relation}→ ${object} (${time})`;
}

/** Unique text for a path, which does not depend on the order of the paths. */
export function pathKey({ steps }: Path): string {
  return steps.map(factKey).join("\n");
}

function timesText(count: number): string {
  return count === 2 ? "twice" : `${count} times`;
}

function formatFactor(factor: number): string {
  return factor >= 9.95 ? String(Math.round(factor)) : factor.toFixed(1);
}
