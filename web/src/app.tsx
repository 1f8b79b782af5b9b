/** The page: what is known and asked on one side, what is answered and why on the other. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ActorPanel } from "./actor";
import { useAddress } from "./address";
import { AnswersPanel } from "./answers";
import { api } from "./api";
import { useAsked } from "./asked";
import { FactsPanel } from "./facts";
import { Header } from "./header";
import { useLoaded } from "./loaded";
import { Failure } from "./failure";
import { QuestionPanel } from "./question";
import { useTheme } from "./theme";
import { TokenForm } from "./token";
import { Welcome } from "./welcome";
import { WhyPanel } from "./why";

export function App(): JSX.Element {
  const [state, change] = useAddress();
  const [theme, setTheme] = useTheme();
  const [notice, setNotice] = useState("");
  const model = useLoaded("model", api.model);
  const asked = useAsked(state);

  const locked = [model, asked.profile, asked.now].some(({ error }) => error?.status === 401);
  const unlock = (): void => [model, asked.profile, asked.now].forEach(({ again }) => again());

  return (
    <>
      <a class="skip" href="#answers" onClick={jump}>
        Skip to the answers
      </a>
      <Header model={model.value} theme={theme} onTheme={setTheme} onNotice={setNotice} />
      {locked ? (
        <TokenForm onAccepted={unlock} />
      ) : model.error && !model.value ? (
        <main class="alone">
          <Failure error={model.error} onRetry={model.again} />
        </main>
      ) : !state.actor ? (
        <main id="answers" tabIndex={-1}>
          <Welcome state={state} change={change} />
        </main>
      ) : (
        <main class="columns">
          <div class="asking">
            <ActorPanel state={state} profile={asked.profile} change={change} />
            <FactsPanel state={state} asked={asked} model={model.value} change={change} onNotice={setNotice} />
            <QuestionPanel state={state} model={model.value} change={change} />
          </div>
          <div class="answering" id="answers" tabIndex={-1}>
            <AnswersPanel state={state} asked={asked} model={model.value} change={change} />
            <WhyPanel state={state} asked={asked} theme={theme} change={change} />
          </div>
        </main>
      )}
      <p class="notice" role="status" key={notice}>
        {notice}
      </p>
    </>
  );
}

/** The part of the address after # holds the state, so a jump within the page must not touch it. */
function jump(event: Event): void {
  event.preventDefault();
  document.getElementById("answers")?.focus();
}
