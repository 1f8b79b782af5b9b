/** The reasons for one answer: its paths, drawn and told. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Change } from "./address";
import { api } from "./api";
import type { Asked } from "./asked";
import type { Answer, Explanation, Path, Step } from "./contract";
import { Failure } from "./failure";
import { useLoaded } from "./loaded";
import { percent } from "./numbers";
import { Picture } from "./picture";
import { questionOf, switched, type State } from "./state";
import type { Theme } from "./theme";

interface Props {
  readonly state: State;
  readonly asked: Asked;
  readonly theme: Theme;
  readonly change: Change;
}

export function WhyPanel({ state, asked, theme, change }: Props): JSX.Element | null {
  const { now } = asked;
  const answers = now.error ? [] : (now.value?.answers ?? []);
  const entity = state.pick || answers[0]?.entity || "";
  const ranked = answers.find((answer) => answer.entity === entity);
  const question = questionOf(state);
  const fallen = answers.length > 0 && !now.busy && !ranked && question !== null;
  const explained = useLoaded(fallen ? JSON.stringify([question, entity]) : null, (signal) =>
    question ? api.explain(question, entity, signal) : Promise.reject(new Error("nothing is asked")),
  );
  if (!answers.length || !entity) return null;
  const reasons: Answer | Explanation | null = ranked ?? explained.value;
  return (
    <section class="panel why" id="why" aria-labelledby="why-title" aria-busy={now.busy || explained.busy}>
      <p class="eyebrow">Why</p>
      <h2 id="why-title">{entity}</h2>
      {explained.error ? (
        <Failure error={explained.error} onRetry={explained.again} />
      ) : reasons && reasons.entity === entity ? (
        <Reasons {...{ state, theme, change }} reasons={reasons} />
      ) : (
        <p class="hint">…</p>
      )}
    </section>
  );
}

interface ReasonsProps {
  readonly state: State;
  readonly reasons: Answer | Explanation;
  readonly theme: Theme;
  readonly change: Change;
}

function Reasons({ state, reasons, theme, change }: ReasonsProps): JSX.Element {
  const { entity, rank, share, paths } = reasons;
  const [chosen, setChosen] = useState<number | null>(null);
  useEffect(() => setChosen(null), [reasons]);
  const place = rank === null ? "The model does not reach it." : `Place ${rank}, ${percent(share ?? 0)}.`;
  const asked = { actor: state.actor, answer: entity, side: state.side, relation: state.relation, at: state.at };
  return (
    <>
      <p class="hint">
        {place} {paths.length > 0 ? "These facts led to it:" : "No path of facts leads to it."}
      </p>
      {paths.length > 0 && <Picture asked={asked} paths={paths} chosen={chosen} theme={theme} />}
      <ol class="paths">
        {paths.map((path, number) => (
          <PathCard
            key={number}
            {...{ path, number }}
            chosen={chosen === number}
            alone={paths.length === 1}
            onChoose={() => setChosen(chosen === number ? null : number)}
            onAside={(step) => change(switched({ ...state, pick: entity }, step, false))}
          />
        ))}
      </ol>
    </>
  );
}

interface PathProps {
  readonly path: Path;
  readonly number: number;
  readonly chosen: boolean;
  readonly alone: boolean;
  readonly onChoose: () => void;
  readonly onAside: (step: Step) => void;
}

function PathCard({ path, number, chosen, alone, onChoose, onAside }: PathProps): JSX.Element {
  return (
    <li class={chosen ? "path chosen" : "path"}>
      <div class="path-head">
        <h3>
          {path.is_context ? "Seen with others" : `Path ${number + 1}`}
          {path.is_context && <span class="badge">example</span>}
        </h3>
        {!alone && (
          <button type="button" class="quiet small" aria-pressed={chosen} aria-label={`Show path ${number + 1} in the drawing`} onClick={onChoose}>
            Show
          </button>
        )}
      </div>
      <p class="sentence">{unbroken(path.text)}</p>
      <ul class="steps">
        {path.steps.map((step, place) => (
          <li key={place}>
            <span class="date">{step.time}</span>
            <span class="step-fact">
              {step.subject} <span class="arrow">—</span> <span class="verb">{step.relation}</span>{" "}
              <span class="arrow">→</span> {step.object}
            </span>
            <span class="chance">
              {!path.is_context && <span title="how probable the model found this step">{percent(step.probability)}</span>}
              {step.confidence !== null && <span title="confidence of the step">conf. {step.confidence.toFixed(2)}</span>}
            </span>
            <button
              type="button"
              class="quiet small"
              aria-label={`What if not? ${step.subject}, ${step.relation}, ${step.object}, ${step.time}`}
              onClick={() => onAside(step)}
            >
              What if not?
            </button>
          </li>
        ))}
      </ul>
    </li>
  );
}

/** The text with its dates kept in one piece. */
function unbroken(text: string): (string | JSX.Element)[] {
  return text
    .split(/(\d{4}-\d{2}(?:-\d{2})?)/)
    .map((part, place) => (place % 2 ? <span class="whole">{part}</span> : part));
}
