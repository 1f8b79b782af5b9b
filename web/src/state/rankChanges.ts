/** Differences between two rankings for the same query. */

import type { Answer } from "../api/types";
import { pluralize } from "./format";

export interface RankChange {
  /** Number of ranks gained; negative if the answer moved down. */
  readonly gained: number;
  /** Rank in the previous ranking, or null if the answer is new. */
  readonly previousRank: number | null;
  readonly previousShare: number | null;
}

export interface RankChanges {
  /** One change per current answer, by entity. */
  readonly byEntity: ReadonlyMap<string, RankChange>;
  /** Answers that are in the previous ranking only, best first. */
  readonly removed: readonly Answer[];
}

export function compareRankings(current: readonly Answer[], previous: readonly Answer[]): RankChanges {
  const earlier = new Map(previous.map((answer) => [answer.entity, answer]));
  const byEntity = new Map(current.map((answer) => [answer.entity, rankChange(answer, earlier.get(answer.entity))]));
  return { byEntity, removed: previous.filter((answer) => !byEntity.has(answer.entity)) };
}

/** One-line summary of the changes. */
export function summarizeChanges({ byEntity, removed }: RankChanges): string {
  const changed = [...byEntity.values()].filter((change) => change.previousRank === null || change.gained !== 0).length;
  if (!changed && !removed.length) return "The ranking is unchanged.";
  const dropped = removed.length ? ` ${pluralize(removed.length, "answer")} dropped out.` : "";
  return `${pluralize(changed, "rank")} changed.${dropped}`;
}

function rankChange(current: Answer, previous: Answer | undefined): RankChange {
  if (!previous) return { gained: 0, previousRank: null, previousShare: null };
  return { gained: previous.rank - current.rank, previousRank: previous.rank, previousShare: previous.share };
}
