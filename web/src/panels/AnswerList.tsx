/** The ranked answers, with rank changes if facts are excluded. */

import type { JSX } from "preact";
import type { Answer, Model } from "../api/types";
import type { PredictionState } from "../hooks/usePrediction";
import type { UpdateState } from "../hooks/useUrlState";
import { formatInteger, formatPercent, pluralize } from "../state/format";
import { summarizeChanges, type RankChange, type RankChanges } from "../state/rankChanges";
import { TOP_CHOICES, type State } from "../state/state";

interface Props {
  readonly state: State;
  readonly result: PredictionState;
  readonly model: Model | null;
  readonly update: UpdateState;
  readonly answers: readonly Answer[];
}

const MAX_CONCEPTS = 3;
const MAX_REMOVED = 5;

export function AnswerList({ state, result, model, update, answers }: Props): JSX.Element {
  const { changes } = result;
  if (!answers.length) return <p class="hint empty">The model finds no candidates for this query.</p>;
  const selected = state.selected || answers[0]?.entity;
  const previousShares = [...(changes?.byEntity.values() ?? [])].map(({ previousShare }) => previousShare ?? 0);
  const maxShare = Math.max(...answers.map(({ share }) => share), ...previousShares, 1e-9);
  return (
    <>
      <p class="comparison" role="status">
        {changes && (
          <>
            <strong>{restriction(state)}</strong> {summarizeChanges(changes)} Markers on the bars show previous shares.
          </>
        )}
      </p>
      <ol class={result.prediction.pending ? "ranking stale" : "ranking"} onKeyDown={onArrowKeys}>
        {answers.map((answer) => (
          <AnswerRow
            key={answer.entity}
            answer={answer}
            maxShare={maxShare}
            change={changes?.byEntity.get(answer.entity)}
            selected={answer.entity === selected}
            onSelect={() => {
              update({ ...state, selected: answer.entity });
              scrollToExplanation();
            }}
          />
        ))}
      </ol>
      {changes && changes.removed.length > 0 && <RemovedAnswers removed={changes.removed} />}
      <Footer {...{ state, model, update, answers }} />
    </>
  );
}

function RemovedAnswers({ removed }: Pick<RankChanges, "removed">): JSX.Element {
  const names = removed.slice(0, MAX_REMOVED).map(({ entity, rank }) => `${entity} (rank ${rank})`);
  const more = removed.length > MAX_REMOVED ? ` and ${removed.length - MAX_REMOVED} more` : "";
  return (
    <p class="hint removed">
      No longer listed: {names.join(", ")}
      {more}
    </p>
  );
}

function Footer({ state, model, update, answers }: Omit<Props, "result">): JSX.Element {
  const total = answers.reduce((sum, { share }) => sum + share, 0);
  const others = model && Math.max(0, model.entities - answers.length);
  const moreAnswers = TOP_CHOICES.find((top) => top > state.top);
  return (
    <p class="hint foot">
      <span>
        Total share: {formatPercent(total)}.
        {others !== null && ` The rest is distributed over ${formatInteger(others)} other entities.`}
      </span>
      {moreAnswers && answers.length === state.top && (
        <button type="button" class="secondary" onClick={() => update({ ...state, top: moreAnswers })}>
          Show {moreAnswers}
        </button>
      )}
    </p>
  );
}

/** What restricts the facts in use, compared with the baseline. */
function restriction(state: State): string {
  const disabled = state.facts.filter(({ enabled }) => !enabled).length + state.without.length;
  return disabled ? `${pluralize(disabled, "fact")} switched off.` : `Only facts up to ${state.asOf}.`;
}

interface RowProps {
  readonly answer: Answer;
  /** The share of a full bar. */
  readonly maxShare: number;
  readonly change: RankChange | undefined;
  readonly selected: boolean;
  readonly onSelect: () => void;
}

function AnswerRow({ answer, maxShare, change, selected, onSelect }: RowProps): JSX.Element {
  const { rank, entity, share, concepts } = answer;
  return (
    <li>
      <button type="button" class="answer" aria-pressed={selected} onClick={onSelect}>
        <span class="rank">{rank}</span>
        <span class="answer-label">
          <span class="name">{entity}</span>
          {concepts.length > 0 && <span class="concepts">{concepts.slice(0, MAX_CONCEPTS).join(" · ")}</span>}
        </span>
        {change && <RankChangeLabel change={change} />}
        <span class="share">{formatPercent(share)}</span>
        <span class="bar" aria-hidden="true">
          <span style={{ width: `${(share / maxShare) * 100}%` }} />
          {change?.previousShare != null && <i style={{ left: `${(change.previousShare / maxShare) * 100}%` }} />}
        </span>
      </button>
    </li>
  );
}

function RankChangeLabel({ change: { gained, previousRank } }: { readonly change: RankChange }): JSX.Element {
  if (previousRank === null) return <span class="rank-change up">new</span>;
  if (!gained) return <span class="rank-change" />;
  const direction = gained > 0 ? "up" : "down";
  return (
    <span class={`rank-change ${direction}`} title={`Previous rank: ${previousRank}`}>
      <span aria-hidden="true">
        {gained > 0 ? "▲" : "▼"} {Math.abs(gained)}
      </span>
      <span class="visually-hidden">
        {direction} {Math.abs(gained)}
      </span>
    </span>
  );
}

/** Moves the focus between answers with the arrow keys. */
function onArrowKeys(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !(event.currentTarget instanceof HTMLElement)) return;
  const rows = [...event.currentTarget.querySelectorAll<HTMLButtonElement>("button.answer")];
  const next = rows[rows.findIndex((row) => row === document.activeElement) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
}

/** Scrolls to the explanation if it is below the answers (narrow screens). */
function scrollToExplanation(): void {
  const explanation = document.getElementById("explanation");
  if (explanation && explanation.getBoundingClientRect().top > innerHeight * 0.7) {
    explanation.scrollIntoView({ block: "start" });
  }
}
