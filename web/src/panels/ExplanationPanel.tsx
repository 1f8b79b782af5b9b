/** The explanation of one answer: what is known from the prediction at once, then the evidence and measured effects. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Answer, Explanation, Fact } from "../api/types";
import { ErrorMessage } from "../components/ErrorMessage";
import { PathGraph } from "../drawing/PathGraph";
import { useExplanation, type ExplanationState } from "../hooks/useExplanation";
import type { PredictionState } from "../hooks/usePrediction";
import type { Theme } from "../hooks/useTheme";
import type { UpdateState } from "../hooks/useUrlState";
import { pathKey } from "../state/explanation";
import { setFactEnabled, type State } from "../state/state";
import { EvidenceBars } from "./explanation/EvidenceBars";
import { FactEffects } from "./explanation/FactEffects";
import { PathList } from "./explanation/PathList";
import { Placement, Summary } from "./explanation/Summary";

interface Props {
  readonly state: State;
  readonly result: PredictionState;
  readonly theme: Theme;
  readonly update: UpdateState;
}

export function ExplanationPanel({ state, result, theme, update }: Props): JSX.Element | null {
  const { prediction } = result;
  const answers = prediction.error ? [] : (prediction.value?.answers ?? []);
  const entity = answers.length ? state.selected || answers[0]?.entity || "" : "";
  const explained = useExplanation(result, entity);
  if (!entity) return null;
  const listed = answers.find((answer) => answer.entity === entity);
  const known = explained.current ? explained.value : (listed ?? null);
  return (
    <section
      class="panel explanation"
      id="explanation"
      aria-labelledby="explanation-title"
      aria-busy={prediction.pending || explained.pending}
    >
      <p class="eyebrow">Explanation</p>
      <h2 id="explanation-title">{entity}</h2>
      {known && <Placement rank={known.rank} share={known.share} />}
      <ExplanationContent key={entity} {...{ state, theme, update, known, explained, entity }} />
    </section>
  );
}

interface ContentProps extends Omit<Props, "result"> {
  readonly entity: string;
  /** Rank, share and paths as far as they are known. */
  readonly known: Answer | Explanation | null;
  readonly explained: ExplanationState;
}

function ExplanationContent({ state, theme, update, entity, known, explained }: ContentProps): JSX.Element {
  const [chosenKey, setChosenKey] = useState<string | null>(null);
  const paths = known?.paths ?? [];
  const chosen = paths.findIndex((path) => pathKey(path) === chosenKey);
  const link = { entity: state.entity, answer: entity, side: state.side, relation: state.relation, at: state.at };
  // An explanation of the same answer with other facts is shown faded until the new one arrives: nothing jumps.
  const measured = !explained.error && explained.value?.entity === entity ? explained.value : null;
  const fresh = explained.current && !explained.pending;
  const exclude = (facts: readonly Fact[]): void =>
    update(facts.reduce((next, fact) => setFactEnabled(next, fact, false), { ...state, selected: entity }));
  return (
    <>
      <p class="hint measuring" role="status">
        {explained.pending && "Measuring effects…"}
      </p>
      {explained.error && <ErrorMessage error={explained.error} onRetry={explained.reload} />}
      {measured && (
        <div class={fresh ? "measured" : "measured stale"}>
          <Summary explanation={measured} />
        </div>
      )}
      {paths.length > 0 && <PathGraph link={link} paths={paths} chosen={chosen < 0 ? null : chosen} theme={theme} />}
      {measured && measured.rank !== null && (
        <div class={fresh ? "measured" : "measured stale"}>
          <FactEffects explanation={measured} onExclude={exclude} />
          <EvidenceBars explanation={measured} />
        </div>
      )}
      {known && (
        <PathList
          paths={paths}
          chosen={chosen}
          onChoose={(path) => setChosenKey(pathKey(path) === chosenKey ? null : pathKey(path))}
          onExclude={exclude}
        />
      )}
    </>
  );
}
