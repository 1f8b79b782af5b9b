/** Keeps the state in the URL fragment, so that links and the browser's back and forward buttons restore it. */

import { useCallback, useEffect, useState } from "preact/hooks";
import type { State } from "../state/state";
import { decodeState, encodeState } from "../state/url";

/** `push` adds a history entry that "back" undoes; `replace` does not. */
export type UpdateState = (next: State, mode?: "push" | "replace") => void;

export function useUrlState(): [State, UpdateState] {
  const [state, setState] = useState(() => decodeState(location.hash));

  useEffect(() => {
    const read = (): void => setState(decodeState(location.hash));
    addEventListener("popstate", read);
    return () => removeEventListener("popstate", read);
  }, []);

  const update = useCallback<UpdateState>((next, mode = "push") => {
    const fragment = encodeState(next);
    if (fragment !== encodeState(decodeState(location.hash))) {
      const url = fragment ? `#${fragment}` : location.pathname + location.search;
      if (mode === "push") history.pushState(null, "", url);
      else history.replaceState(null, "", url);
    }
    setState(next);
  }, []);

  return [state, update];
}
