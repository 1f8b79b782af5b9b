/** The ranked answers, with what moved when facts are off. */

import type { JSX } from "preact";
import type { Change } from "./address";
import type { ServiceError } from "./api";
import type { Asked } from "./asked";
import type { Answer, Model } from "./contract";
import { Failure } from "./failure";
import { summary, type Move } from "./movement";
import { counted, percent, thousands } from "./numbers";
import { corrected, TOPS, type State } from "./state";

interface Props {
  readonly state: State;
  readonly asked: Asked;
  readonly model: Model | null;
  readonly change: Change;
}

export function AnswersPanel({ state, asked, model, change }: Props): JSX.Element {
  const { now } = asked;
  const asking = state.relation !== "" && state.at !== "" && asked.grounded;
  return (
    <section class="panel answers" aria-labelledby="answers-title" aria-busy={now.busy}>
      <h2 id="answers-title" class="unseen">
        Answers
      </h2>
      <Asking state={state} />
      {!asking ? (
        <Missing state={state} asked={asked} />
      ) : now.error ? (
        <Failure error={now.error} onRetry={now.again} onSuggestion={correction(now.error, state, change)} />
      ) : now.value ? (
        <Ranking {...{ state, asked, model, change }} answers={now.value.answers} />
      ) : (
        <Waiting />
      )}
    </section>
  );
}

/** The question as one line, the asked end open. */
function Asking({ state }: { readonly state: State }): JSX.Element {
  const actor = <span class="name">{state.actor}</span>;
  const open = (
    <span class="open" aria-label="who">
      ?
    </span>
  );
  return (
    <p class="asked-line">
      {state.side === "subject" ? actor : open}
      <span class="link">
        <span class="verb">{state.relation || "…"}</span>
        <span class="arrow"> → </span>
      </span>
      {state.side === "subject" ? open : actor}
      {state.at && <span class="date">{state.at}</span>}
      {state.asOf && <span class="date as-of">known by {state.asOf}</span>}
    </p>
  );
}

function Missing({ state, asked }: { readonly state: State; readonly asked: Asked }): JSX.Element {
  if (asked.profile.error) return <Failure error={asked.profile.error} onRetry={asked.profile.again} />;
  if (asked.profile.busy) return <Waiting />;
  if (!asked.grounded && state.facts.length) {
    return <p class="hint empty">Every fact about {state.actor} is switched off. Switch one on to ask.</p>;
  }
  const needs: [string, boolean][] = [
    ["Something that is known of the actor: one dated fact is enough", asked.grounded],
    ["What may happen: a relation", state.relation !== ""],
    ["When", state.at !== ""],
  ];
  return (
    <div class="empty">
      <p class="hint">An answer needs three things.</p>
      <ol class="needs">
        {needs.map(([need, done]) => (
          <li key={need} class={done ? "done" : ""}>
            {need}
            {done && <span class="unseen"> (done)</span>}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Waiting(): JSX.Element {
  return (
    <div class="waiting" role="status">
      <span class="unseen">The answers are being worked out.</span>
      {[92, 64, 48, 36, 30].map((width) => (
        <span key={width} class="bone" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}

interface RankingProps extends Props {
  readonly answers: readonly Answer[];
}

function Ranking({ state, asked, model, change, answers }: RankingProps): JSX.Element {
  const { movement } = asked;
  if (!answers.length) return <p class="hint empty">The model reaches nobody from these facts.</p>;
  const picked = state.pick || answers[0]?.entity;
  const before = [...(movement?.moves.values() ?? [])].map(({ wasShare }) => wasShare ?? 0);
  const most = Math.max(...answers.map(({ share }) => share), ...before, 1e-9);
  const total = answers.reduce((sum, { share }) => sum + share, 0);
  const more = TOPS.find((top) => top > state.top);
  return (
    <>
      <p class="compared" role="status">
        {movement && (
          <>
            <strong>{comparison(state)}</strong> {summary(movement)} Marks on the bars show the share before.
          </>
        )}
      </p>
      <ol class={asked.now.busy ? "ranking stale" : "ranking"} onKeyDown={roam}>
        {answers.map((answer) => (
          <AnswerRow
            key={answer.entity}
            answer={answer}
            most={most}
            move={movement?.moves.get(answer.entity)}
            picked={answer.entity === picked}
            onPick={() => {
              change({ ...state, pick: answer.entity });
              showWhy();
            }}
          />
        ))}
      </ol>
      {movement && movement.gone.length > 0 && (
        <p class="hint gone">
          No longer among them:{" "}
          {movement.gone.slice(0, 5).map(({ entity, rank }, place) => (
            <span key={entity}>
              {place > 0 && ", "}
              {entity} (was {rank})
            </span>
          ))}
          {movement.gone.length > 5 && ` and ${movement.gone.length - 5} more`}
        </p>
      )}
      <p class="hint foot">
        <span>
          Together {percent(total)} of the model’s belief
          {model && `, the rest is spread over ${thousands(Math.max(0, model.entities - answers.length))} others`}.
        </span>
        {more && answers.length === state.top && (
          <button type="button" class="quiet" onClick={() => change({ ...state, top: more })}>
            Show {more}
          </button>
        )}
      </p>
    </>
  );
}

function comparison(state: State): string {
  const off = state.facts.filter(({ on }) => !on).length + state.without.length;
  return off ? `${counted(off, "fact")} switched off.` : `Only what was known by ${state.asOf}.`;
}

interface RowProps {
  readonly answer: Answer;
  /** The largest share shown, which fills the bar. */
  readonly most: number;
  readonly move: Move | undefined;
  readonly picked: boolean;
  readonly onPick: () => void;
}

function AnswerRow({ answer, most, move, picked, onPick }: RowProps): JSX.Element {
  const { rank, entity, share, concepts } = answer;
  return (
    <li>
      <button type="button" class="answer" aria-pressed={picked} onClick={onPick}>
        <span class="rank">{rank}</span>
        <span class="who">
          <span class="name">{entity}</span>
          {concepts.length > 0 && <span class="concepts">{concepts.slice(0, 3).join(" · ")}</span>}
        </span>
        {move && <Moved move={move} />}
        <span class="share">{percent(share)}</span>
        <span class="bar" aria-hidden="true">
          <span style={{ width: `${(share / most) * 100}%` }} />
          {move?.wasShare != null && <i style={{ left: `${(move.wasShare / most) * 100}%` }} />}
        </span>
      </button>
    </li>
  );
}

function Moved({ move: { gained, was } }: { readonly move: Move }): JSX.Element {
  if (was === null) return <span class="moved up">new</span>;
  if (!gained) return <span class="moved" />;
  return (
    <span class={gained > 0 ? "moved up" : "moved down"} title={`was ${was}`}>
      <span aria-hidden="true">
        {gained > 0 ? "▲" : "▼"} {Math.abs(gained)}
      </span>
      <span class="unseen">
        {gained > 0 ? "up" : "down"} {Math.abs(gained)}
      </span>
    </span>
  );
}

/** Arrow keys go from answer to answer. */
function roam(event: KeyboardEvent): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by === undefined || !(event.currentTarget instanceof HTMLElement)) return;
  const rows = [...event.currentTarget.querySelectorAll<HTMLButtonElement>("button.answer")];
  const next = rows[rows.findIndex((row) => row === document.activeElement) + by];
  if (next) {
    event.preventDefault();
    next.focus();
  }
}

/** Where the reasons stand below the answers, as on a phone, they are brought into view. */
function showWhy(): void {
  const why = document.getElementById("why");
  if (why && why.getBoundingClientRect().top > innerHeight * 0.7) why.scrollIntoView({ block: "start" });
}

/** What to do with a suggestion: put it where the name that was not understood stands. */
function correction(error: ServiceError, state: State, change: Change): ((name: string) => void) | undefined {
  const wrong = misnamed(error.field, state);
  return wrong ? (name) => change(corrected(state, wrong, name)) : undefined;
}

function misnamed(field: string | null, state: State): string | null {
  const [place, end] = /^facts\W+(\d+)\W+(subject|relation|object)/.exec(field ?? "")?.slice(1) ?? [];
  if (place && end) {
    const noted = state.facts.filter(({ on }) => on)[Number(place)];
    return noted?.fact[end as "subject" | "relation" | "object"] ?? null;
  }
  if (field === "relation") return state.relation;
  return field === "subject" || field === "object" ? state.actor : null;
}
