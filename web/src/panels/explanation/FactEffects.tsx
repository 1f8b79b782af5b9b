/** The facts that matter most for an answer, each with the answer recomputed without it. */

import type { JSX } from "preact";
import type { Explanation, Fact, FactEffect } from "../../api/types";
import { ExcludeButton } from "../../components/ExcludeButton";
import { WholeFact } from "../../components/FactRow";
import { splitByEffect, togetherText, withoutFactText } from "../../state/explanation";
import { pluralize } from "../../state/format";
import { factKey, sameFact } from "../../state/state";
import { FactSets } from "./FactSets";

interface Props {
  readonly explanation: Explanation;
  readonly onExclude: (facts: readonly Fact[]) => void;
}

export function FactEffects({ explanation, onExclude }: Props): JSX.Element | null {
  const { facts, considered } = explanation;
  if (!facts.length) return null;
  const [strong, weak] = splitByEffect(facts);
  const list = (shown: readonly FactEffect[]): JSX.Element => (
    <ol class="effects">
      {shown.map((fact) => (
        <EffectRow key={factKey(fact)} {...{ fact, explanation, onExclude }} />
      ))}
    </ol>
  );
  return (
    <section class="fact-effects" aria-labelledby="effects-title">
      <h3 id="effects-title">Which facts matter</h3>
      <p class="hint">The answer was recomputed without each of {pluralize(considered, "considered fact")}.</p>
      <FactSets explanation={explanation} onExclude={onExclude} />
      {strong.length > 0 && list(strong)}
      {weak.length > 0 && (
        <details class="weak">
          <summary>
            {strong.length ? pluralize(weak.length, "more fact") : pluralize(weak.length, "fact")} with effects below 0.01 nats
          </summary>
          {list(weak)}
        </details>
      )}
    </section>
  );
}

interface RowProps extends Props {
  readonly fact: FactEffect;
}

function EffectRow({ fact, explanation, onExclude }: RowProps): JSX.Element {
  const isIn = (facts: readonly Fact[]): boolean => facts.some((candidate) => sameFact(candidate, fact));
  const together = togetherText(fact);
  return (
    <li class="effect">
      <div class="effect-fact">
        <p>
          <WholeFact fact={fact} /> <span class="date">{fact.time}</span>
          {isIn(explanation.later) && <span class="badge">after the question</span>}
        </p>
        <p class="effect-result">
          {withoutFactText(fact)}
          {isIn(explanation.necessary) && <span class="badge new">necessary</span>}
          {isIn(explanation.sufficient) && <span class="badge">sufficient</span>}
          {fact.effect < 0 && <span class="badge">speaks against</span>}
        </p>
        {together && <p class="hint">{together}</p>}
      </div>
      <ExcludeButton fact={fact} onExclude={onExclude} />
    </li>
  );
}
