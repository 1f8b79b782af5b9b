/** Sends the query of the page to the service: the prediction, its baseline, and what is known about the entity. */

import { api } from "../api/client";
import type { Entity, Prediction, QueryRequest, StoredFact } from "../api/types";
import { compareRankings, type RankChanges } from "../state/rankChanges";
import { baselineState, factKey, toQuery, type State } from "../state/state";
import { useAsync, type AsyncValue } from "./useAsync";

/** What the service knows about the entity. */
export interface EntityInfo {
  /** Whether the training data contains the entity. */
  readonly known: boolean;
  /** The catalog entry; null if the service has no entity of this name. */
  readonly entry: Entity | null;
  /** Facts stored in the service. */
  readonly stored: readonly StoredFact[];
}

export interface PredictionState {
  readonly info: AsyncValue<EntityInfo>;
  readonly prediction: AsyncValue<Prediction>;
  /** The query that the latest prediction answers; it may be an earlier one than that of the page. */
  readonly answered: QueryRequest | null;
  /** Differences to the unrestricted prediction; null while there is nothing to compare with. */
  readonly changes: RankChanges | null;
  /** Whether the model has support facts: an enabled fact on the page, a stored fact, or a known entity. */
  readonly hasSupport: boolean;
}

const DEBOUNCE_MS = 150;

export function usePrediction(state: State): PredictionState {
  const info = useAsync(state.entity || null, (signal) => loadInfo(state.entity, signal));
  const current = currentInfo(info, state);
  const hasSupport =
    state.facts.some(({ enabled }) => enabled) || Boolean(current && (current.known || current.stored.length > 0));

  const storedKey = (current?.stored ?? []).map(factKey).join("\n");
  const baseline = hasSupport ? baselineState(state) : null;
  const prediction = useQuery(hasSupport ? state : null, storedKey);
  const unrestricted = useQuery(baseline && toQuery(state) ? baseline : null, storedKey);
  const comparable = baseline && prediction.value && unrestricted.value && !unrestricted.pending;
  const changes =
    comparable && prediction.value && unrestricted.value
      ? compareRankings(prediction.value.answers, unrestricted.value.answers)
      : null;
  return { info, prediction, answered: queryOfKey(prediction.key), changes, hasSupport };
}

/** The loaded information, or null if it belongs to another entity. */
export function currentInfo(info: AsyncValue<EntityInfo>, state: State): EntityInfo | null {
  return info.key === state.entity ? info.value : null;
}

function useQuery(state: State | null, storedKey: string): AsyncValue<Prediction> {
  const query = state && toQuery(state);
  return useAsync(
    query && queryKey(query, storedKey),
    (signal) => (query ? api.predict(query, signal) : Promise.reject(new Error("no query"))),
    DEBOUNCE_MS,
  );
}

function queryKey(query: QueryRequest, storedKey: string): string {
  return JSON.stringify([query, storedKey]);
}

function queryOfKey(key: string | null): QueryRequest | null {
  return key === null ? null : (JSON.parse(key) as [QueryRequest, string])[0];
}

async function loadInfo(name: string, signal: AbortSignal): Promise<EntityInfo> {
  const matches = await api.entities(name, signal);
  const entry = matches.find((candidate) => candidate.name === name) ?? null;
  const stored = entry?.observed ? (await api.storedFacts(name, signal)).facts : [];
  return { known: (entry?.facts ?? 0) > 0, entry, stored };
}
