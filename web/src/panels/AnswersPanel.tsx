/** The query in one line and its ranked answers, or what is missing for a prediction. */

import type { JSX } from "preact";
import type { ServiceError } from "../api/client";
import type { Model } from "../api/types";
import { ErrorMessage } from "../components/ErrorMessage";
import type { PredictionState } from "../hooks/usePrediction";
import type { UpdateState } from "../hooks/useUrlState";
import { replaceName, type State } from "../state/state";
import { AnswerList } from "./AnswerList";

interface Props {
  readonly state: State;
  readonly result: PredictionState;
  readonly model: Model | null;
  readonly update: UpdateState;
}

export function AnswersPanel({ state, result, model, update }: Props): JSX.Element {
  const { prediction } = result;
  const complete = state.relation !== "" && state.at !== "" && result.hasSupport;
  return (
    <section class="panel answers" aria-labelledby="answers-title" aria-busy={prediction.pending}>
      <h2 id="answers-title" class="visually-hidden">
        Answers
      </h2>
      <QueryLine state={state} />
      {!complete ? (
        <MissingInputs state={state} result={result} />
      ) : prediction.error ? (
        <ErrorMessage
          error={prediction.error}
          onRetry={prediction.reload}
          onSuggestion={suggestionHandler(prediction.error, state, update)}
        />
      ) : prediction.value ? (
        <AnswerList {...{ state, result, model, update }} answers={prediction.value.answers} />
      ) : (
        <Skeleton />
      )}
    </section>
  );
}

function QueryLine({ state }: { readonly state: State }): JSX.Element {
  const entity = <span class="name">{state.entity}</span>;
  const unknown = (
    <span class="unknown" role="img" aria-label="unknown">
      ?
    </span>
  );
  return (
    <p class="query-line">
      {state.side === "subject" ? entity : unknown}
      <span class="link">
        <span class="relation">{state.relation || "…"}</span>
        <span class="arrow"> → </span>
      </span>
      {state.side === "subject" ? unknown : entity}
      {state.at && <span class="date">{state.at}</span>}
      {state.asOf && <span class="date">Facts up to {state.asOf}</span>}
      {state.hindsight && <span class="date">With later facts</span>}
    </p>
  );
}

function MissingInputs({ state, result }: Pick<Props, "state" | "result">): JSX.Element {
  if (result.info.error) return <ErrorMessage error={result.info.error} onRetry={result.info.reload} />;
  if (result.info.pending) return <Skeleton />;
  if (!result.hasSupport && state.facts.length) {
    return <p class="hint empty">All facts about {state.entity} are switched off. Switch one on to predict.</p>;
  }
  const inputs: [string, boolean][] = [
    ["At least one fact about the entity", result.hasSupport],
    ["A relation", state.relation !== ""],
    ["A time", state.at !== ""],
  ];
  return (
    <div class="empty">
      <p class="hint">A prediction needs:</p>
      <ol class="inputs-needed">
        {inputs.map(([input, done]) => (
          <li key={input} class={done ? "done" : ""}>
            {input}
            {done && <span class="visually-hidden"> (done)</span>}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** Placeholder while answers are loading. */
function Skeleton(): JSX.Element {
  return (
    <div class="skeleton" role="status">
      <span class="visually-hidden">Loading answers.</span>
      {[92, 64, 48, 36, 30].map((width) => (
        <span key={width} style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}

/** Replaces the rejected name by the suggestion; undefined if the error is not about a name on the page. */
function suggestionHandler(error: ServiceError, state: State, update: UpdateState): ((name: string) => void) | undefined {
  const wrong = rejectedName(error.field, state);
  return wrong ? (name) => update(replaceName(state, wrong, name)) : undefined;
}

function rejectedName(field: string | null, state: State): string | null {
  const [index, part] = /^facts\W+(\d+)\W+(subject|relation|object)/.exec(field ?? "")?.slice(1) ?? [];
  if (index && part) {
    const sent = state.facts.filter(({ enabled }) => enabled)[Number(index)];
    return sent?.fact[part as "subject" | "relation" | "object"] ?? null;
  }
  if (field === "relation") return state.relation;
  return field === "subject" || field === "object" ? state.entity : null;
}
