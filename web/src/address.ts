/** The state, kept in the page's address: a link brings it back, and so do the browser's back and forward buttons. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { linkOf, stateOf } from "./link";
import type { State } from "./state";

/** `push` makes a step that "back" undoes; `replace` does not. */
export type Change = (next: State, how?: "push" | "replace") => void;

export function useAddress(): [State, Change] {
  const [state, setState] = useState(() => stateOf(location.hash));

  useEffect(() => {
    const read = (): void => setState(stateOf(location.hash));
    addEventListener("popstate", read);
    return () => removeEventListener("popstate", read);
  }, []);

  const change = useCallback<Change>((next, how = "push") => {
    const link = linkOf(next);
    if (link !== linkOf(stateOf(location.hash))) {
      const address = link ? `#${link}` : location.pathname + location.search;
      if (how === "push") history.pushState(null, "", address);
      else history.replaceState(null, "", address);
    }
    setState(next);
  }, []);

  return [state, change];
}
