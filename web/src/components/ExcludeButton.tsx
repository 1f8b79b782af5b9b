/** Switches a fact off, so that the answers are predicted without it. */

import type { JSX } from "preact";
import type { Fact } from "../api/types";
import { factLabel } from "./FactRow";

interface Props {
  readonly fact: Fact;
  readonly onExclude: (facts: readonly Fact[]) => void;
}

export function ExcludeButton({ fact, onExclude }: Props): JSX.Element {
  return (
    <button
      type="button"
      class="secondary small"
      aria-label={`Exclude fact: ${factLabel(fact)}`}
      title="Predict without this fact"
      onClick={() => onExclude([fact])}
    >
      Exclude
    </button>
  );
}
