/** The explanation of one answer: its paths as a graph and as text. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import type { Answer, Explanation, Path, Step } from "../api/types";
import { ErrorMessage } from "../components/ErrorMessage";
import { factLabel } from "../components/FactRow";
import { PathGraph } from "../drawing/PathGraph";
import { useAsync } from "../hooks/useAsync";
import type { PredictionState } from "../hooks/usePrediction";
import type { Theme } from "../hooks/useTheme";
import type { UpdateState } from "../hooks/useUrlState";
import { formatPercent } from "../state/format";
import { setFactEnabled, toQuery, type State } from "../state/state";

interface Props {
  readonly state: State;
  readonly result: PredictionState;
  readonly theme: Theme;
  readonly update: UpdateState;
}

export function ExplanationPanel({ state, result, theme, update }: Props): JSX.Element | null {
  const { prediction } = result;
  const answers = prediction.error ? [] : (prediction.value?.answers ?? []);
  const entity = state.selected || answers[0]?.entity || "";
  const listed = answers.find((answer) => answer.entity === entity);
  const query = toQuery(state);
  const unlisted = answers.length > 0 && !prediction.pending && !listed && query !== null;
  const explained = useAsync(unlisted ? JSON.stringify([query, entity]) : null, (signal) =>
    query ? api.explain(query, entity, signal) : Promise.reject(new Error("no query")),
  );
  if (!answers.length || !entity) return null;
  const explanation: Answer | Explanation | null = listed ?? explained.value;
  return (
    <section
      class="panel explanation"
      id="explanation"
      aria-labelledby="explanation-title"
      aria-busy={prediction.pending || explained.pending}
    >
      <p class="eyebrow">Explanation</p>
      <h2 id="explanation-title">{entity}</h2>
      {explained.error ? (
        <ErrorMessage error={explained.error} onRetry={explained.reload} />
      ) : explanation && explanation.entity === entity ? (
        <ExplanationContent {...{ state, theme, update, explanation }} />
      ) : (
        <p class="hint">…</p>
      )}
    </section>
  );
}

interface ContentProps {
  readonly state: State;
  readonly explanation: Answer | Explanation;
  readonly theme: Theme;
  readonly update: UpdateState;
}

function ExplanationContent({ state, explanation, theme, update }: ContentProps): JSX.Element {
  const { entity, rank, share, paths } = explanation;
  const [chosen, setChosen] = useState<number | null>(null);
  useEffect(() => setChosen(null), [explanation]);
  const position = rank === null ? "Not reached by the model." : `Rank ${rank}, share ${formatPercent(share ?? 0)}.`;
  const link = { entity: state.entity, answer: entity, side: state.side, relation: state.relation, at: state.at };
  return (
    <>
      <p class="hint">
        {position} {introduction(paths)}
      </p>
      {paths.length > 0 && <PathGraph link={link} paths={paths} chosen={chosen} theme={theme} />}
      <ol class="paths">
        {paths.map((path, index) => (
          <PathCard
            key={index}
            path={path}
            number={index + 1}
            chosen={chosen === index}
            only={paths.length === 1}
            onChoose={() => setChosen(chosen === index ? null : index)}
            onExclude={(step) => update(setFactEnabled({ ...state, selected: entity }, step, false))}
          />
        ))}
      </ol>
    </>
  );
}

function introduction(paths: readonly Path[]): string {
  if (!paths.length) return "No path leads to this answer.";
  return paths.every(({ is_context }) => is_context)
    ? "No path leads to this answer. Related facts:"
    : "Supporting paths:";
}

interface PathProps {
  readonly path: Path;
  readonly number: number;
  readonly chosen: boolean;
  readonly only: boolean;
  readonly onChoose: () => void;
  readonly onExclude: (step: Step) => void;
}

function PathCard({ path, number, chosen, only, onChoose, onExclude }: PathProps): JSX.Element {
  return (
    <li class={chosen ? "path chosen" : "path"}>
      <div class="path-head">
        <h3>
          {path.is_context ? "Related fact" : `Path ${number}`}
          {path.is_context && <span class="badge">context</span>}
        </h3>
        {!only && (
          <button
            type="button"
            class="secondary small"
            aria-pressed={chosen}
            aria-label={`Show path ${number} in the graph`}
            onClick={onChoose}
          >
            Show
          </button>
        )}
      </div>
      <p class="sentence">{withUnbrokenDates(path.text)}</p>
      <ul class="steps">
        {path.steps.map((step, index) => (
          <StepRow key={index} step={step} isContext={path.is_context} onExclude={() => onExclude(step)} />
        ))}
      </ul>
    </li>
  );
}

interface StepProps {
  readonly step: Step;
  readonly isContext: boolean;
  readonly onExclude: () => void;
}

function StepRow({ step, isContext, onExclude }: StepProps): JSX.Element {
  return (
    <li>
      <span class="date">{step.time}</span>
      <span class="step-fact">
        {step.after_question && <span class="badge">after the question</span>}{" "}
        {step.subject} <span class="arrow">—</span> <span class="relation">{step.relation}</span>{" "}
        <span class="arrow">→</span> {step.object}
      </span>
      <span class="step-numbers">
        {!isContext && <span title="Probability of this step">{formatPercent(step.probability)}</span>}
        {step.confidence !== null && <span title="Confidence of this step">conf. {step.confidence.toFixed(2)}</span>}
      </span>
      <button
        type="button"
        class="secondary small"
        aria-label={`Exclude fact: ${factLabel(step)}`}
        title="Predict without this fact"
        onClick={onExclude}
      >
        Exclude
      </button>
    </li>
  );
}

/** The text with each date protected from line breaks. */
function withUnbrokenDates(text: string): (string | JSX.Element)[] {
  return text
    .split(/(\d{4}-\d{2}(?:-\d{2})?)/)
    .map((part, index) => (index % 2 ? <span class="nowrap">{part}</span> : part));
}
