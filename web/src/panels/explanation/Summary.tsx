/** Rank and share of an answer, what it rests on, and its base rate. */

import type { JSX } from "preact";
import type { Explanation } from "../../api/types";
import { baseRateText, kindTitle } from "../../state/explanation";
import { formatShare } from "../../state/format";

interface PlacementProps {
  readonly rank: number | null;
  readonly share: number;
}

export function Placement({ rank, share }: PlacementProps): JSX.Element {
  return <p class="hint">{rank === null ? "Not reached by the model." : `Rank ${rank}, share ${formatShare(share)}.`}</p>;
}

export function Summary({ explanation }: { readonly explanation: Explanation }): JSX.Element {
  return (
    <div class="summary">
      <h3>{kindTitle(explanation)}</h3>
      <p class="sentence">{explanation.summary}</p>
      <p class="hint">{baseRateText(explanation)}</p>
    </div>
  );
}
