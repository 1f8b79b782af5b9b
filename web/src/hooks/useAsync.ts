/** Loads a value asynchronously and tracks its progress and errors. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { toServiceError, type ServiceError } from "../api/client";

export interface AsyncValue<Value> {
  /** The latest value; it may belong to an earlier key while a new one is loading. */
  readonly value: Value | null;
  /** The key that the value belongs to. */
  readonly key: string | null;
  readonly error: ServiceError | null;
  readonly pending: boolean;
  readonly reload: () => void;
}

interface Settled<Value> {
  readonly value: Value | null;
  readonly key: string | null;
  readonly error: ServiceError | null;
  /** The request that produced this result. */
  readonly request: string | null;
}

const NOTHING = { value: null, key: null, error: null, request: null };

/**
 * Calls `load` whenever the key changes. An unfinished call is aborted.
 *
 * @param key identifies what to load; null loads nothing
 * @param delay milliseconds without a further change before the call
 */
export function useAsync<Value>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<Value>,
  delay = 0,
): AsyncValue<Value> {
  const [settled, setSettled] = useState<Settled<Value>>(NOTHING);
  const [attempt, setAttempt] = useState(0);
  const request = key === null ? null : `${attempt} ${key}`;

  useEffect(() => {
    if (request === null) {
      setSettled(NOTHING);
      return undefined;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      load(controller.signal)
        .then((value) => {
          if (!controller.signal.aborted) setSettled({ value, key, error: null, request });
        })
        .catch((reason: unknown) => {
          if (!controller.signal.aborted) setSettled((last) => ({ ...last, error: toServiceError(reason), request }));
        });
    }, delay);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [request]);

  const reload = useCallback(() => setAttempt((last) => last + 1), []);
  const current = settled.request === request;
  return {
    value: settled.value,
    key: settled.key,
    error: current ? settled.error : null,
    pending: request !== null && !current,
    reload,
  };
}
