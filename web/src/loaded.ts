/** Something the service is asked for, while it is being asked for and after. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { ServiceError } from "./api";

export interface Loaded<Value> {
  /** The latest value, which may still belong to an earlier key. */
  readonly value: Value | null;
  /** The key that the value belongs to. */
  readonly of: string | null;
  readonly error: ServiceError | null;
  readonly busy: boolean;
  readonly again: () => void;
}

interface Held<Value> {
  readonly value: Value | null;
  readonly of: string | null;
  readonly error: ServiceError | null;
  /** The request that this came from; another one is under way while they differ. */
  readonly from: string | null;
}

/** Loads whenever the key changes (after `delay` ms without a further change); null is for nothing to load. */
export function useLoaded<Value>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<Value>,
  delay = 0,
): Loaded<Value> {
  const [held, setHeld] = useState<Held<Value>>({ value: null, of: null, error: null, from: null });
  const [round, setRound] = useState(0);
  const request = key === null ? null : `${round} ${key}`;

  useEffect(() => {
    if (request === null) {
      setHeld({ value: null, of: null, error: null, from: null });
      return undefined;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      load(stop.signal)
        .then((value) => {
          if (!stop.signal.aborted) setHeld({ value, of: key, error: null, from: request });
        })
        .catch((reason: unknown) => {
          if (!stop.signal.aborted) setHeld((last) => ({ ...last, error: asServiceError(reason), from: request }));
        });
    }, delay);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [request]);

  const again = useCallback(() => setRound((last) => last + 1), []);
  const { value, of, error, from } = held;
  return { value, of, error: from === request ? error : null, busy: request !== null && from !== request, again };
}

export function asServiceError(reason: unknown): ServiceError {
  if (reason instanceof ServiceError) return reason;
  return new ServiceError(reason instanceof Error ? reason.message : String(reason), 0);
}
