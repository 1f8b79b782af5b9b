/** One sentence each for the necessary and the sufficient set, with their facts. */

import type { JSX } from "preact";
import type { Explanation, Fact } from "../../api/types";
import { factLabel, WholeFact } from "../../components/FactRow";
import { necessaryText, sufficientText } from "../../state/explanation";
import { factKey } from "../../state/state";

interface Props {
  readonly explanation: Explanation;
  readonly onExclude: (facts: readonly Fact[]) => void;
}

export function FactSets({ explanation, onExclude }: Props): JSX.Element {
  const { necessary, sufficient } = explanation;
  return (
    <ul class="fact-sets">
      <li>
        {necessaryText(explanation)}{" "}
        {necessary.length > 1 && (
          <button
            type="button"
            class="secondary small"
            aria-label={`Exclude facts: ${necessary.map(factLabel).join("; ")}`}
            onClick={() => onExclude(necessary)}
          >
            Exclude all {necessary.length}
          </button>
        )}
        <FactsOfSet facts={necessary} name="necessary" />
      </li>
      <li>
        {sufficientText(explanation)}
        <FactsOfSet facts={sufficient} name="sufficient" />
      </li>
    </ul>
  );
}

function FactsOfSet({ facts, name }: { readonly facts: readonly Fact[]; readonly name: string }): JSX.Element | null {
  if (!facts.length) return null;
  return (
    <details>
      <summary>
        {facts.length === 1 ? "Show the" : `Show the ${facts.length}`} {name} {facts.length === 1 ? "fact" : "facts"}
      </summary>
      <ul class="evidence-facts">
        {facts.map((fact) => (
          <li key={factKey(fact)}>
            <WholeFact fact={fact} /> <span class="date">{fact.time}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
