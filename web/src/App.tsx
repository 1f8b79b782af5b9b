/** The page: entity, facts and query on the left; answers and their explanation on the right. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api } from "./api/client";
import { ErrorMessage } from "./components/ErrorMessage";
import { useAsync } from "./hooks/useAsync";
import { usePrediction } from "./hooks/usePrediction";
import { useTheme } from "./hooks/useTheme";
import { useUrlState } from "./hooks/useUrlState";
import { AnswersPanel } from "./panels/AnswersPanel";
import { EntityPanel } from "./panels/EntityPanel";
import { ExplanationPanel } from "./panels/ExplanationPanel";
import { FactsPanel } from "./panels/FactsPanel";
import { Header } from "./panels/Header";
import { QueryPanel } from "./panels/QueryPanel";
import { TokenForm } from "./panels/TokenForm";
import { WelcomePanel } from "./panels/WelcomePanel";

export function App(): JSX.Element {
  const [state, update] = useUrlState();
  const [theme, setTheme] = useTheme();
  const [message, notify] = useState("");
  const model = useAsync("model", api.model);
  const result = usePrediction(state);

  const requests = [model, result.info, result.prediction];
  const unauthorized = requests.some(({ error }) => error?.status === 401);

  return (
    <>
      <a class="skip" href="#answers" onClick={skipToAnswers}>
        Skip to answers
      </a>
      <Header model={model.value} theme={theme} onTheme={setTheme} notify={notify} />
      {unauthorized ? (
        <TokenForm onAccepted={() => requests.forEach(({ reload }) => reload())} />
      ) : model.error && !model.value ? (
        <main class="centered">
          <ErrorMessage error={model.error} onRetry={model.reload} />
        </main>
      ) : !state.entity ? (
        <main id="answers" tabIndex={-1}>
          <WelcomePanel state={state} update={update} />
        </main>
      ) : (
        <main class="columns">
          <div class="inputs">
            <EntityPanel state={state} info={result.info} update={update} />
            <FactsPanel state={state} result={result} model={model.value} update={update} notify={notify} />
            <QueryPanel state={state} model={model.value} update={update} />
          </div>
          <div class="results" id="answers" tabIndex={-1}>
            <AnswersPanel state={state} result={result} model={model.value} update={update} />
            <ExplanationPanel state={state} result={result} theme={theme} update={update} />
          </div>
        </main>
      )}
      <p class="notification" role="status" key={message}>
        {message}
      </p>
    </>
  );
}

/** The URL fragment holds the state, so the skip link moves the focus without following its href. */
function skipToAnswers(event: Event): void {
  event.preventDefault();
  document.getElementById("answers")?.focus();
}
