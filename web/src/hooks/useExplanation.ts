/** Asks the service why an entity is an answer to the query of the latest prediction. */

import { api } from "../api/client";
import type { Explanation } from "../api/types";
import { useAsync, type AsyncValue } from "./useAsync";
import type { PredictionState } from "./usePrediction";

export interface ExplanationState extends AsyncValue<Explanation> {
  /** Whether the value is about this entity and the latest prediction. */
  readonly current: boolean;
}

/** Less than the time in which a user selects several answers in a row. */
const DEBOUNCE_MS = 100;

export function useExplanation({ prediction, answered }: PredictionState, entity: string): ExplanationState {
  const key = entity && prediction.key !== null && !prediction.error ? JSON.stringify([prediction.key, entity]) : null;
  const explained = useAsync(
    key,
    (signal) => (answered ? api.explain(answered, entity, signal) : Promise.reject(new Error("no query"))),
    DEBOUNCE_MS,
  );
  return { ...explained, current: key !== null && explained.key === key };
}
