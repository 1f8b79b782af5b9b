/** Asks for the access token of the service. */

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { api, storeToken, toServiceError } from "../api/client";

interface Props {
  readonly onAccepted: () => void;
}

export function TokenForm({ onAccepted }: Props): JSX.Element {
  const id = useId();
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    storeToken(token);
    try {
      await api.model();
      onAccepted();
    } catch (reason) {
      const error = toServiceError(reason);
      setProblem(error.status === 401 ? "The token is not valid." : error.message);
    }
  };
  return (
    <main class="centered">
      <form class="panel" onSubmit={(event) => void submit(event)}>
        <h2>Access token required</h2>
        <p class="hint">
          Ask the operator of this service for the token. It is kept until you close this tab and is not part of links.
        </p>
        <div class="field">
          <label for={id}>Token</label>
          <input
            id={id}
            type="password"
            autocomplete="off"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </div>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="row">
          <button type="submit" disabled={!token.trim()}>
            Continue
          </button>
        </div>
      </form>
    </main>
  );
}
