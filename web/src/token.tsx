import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { api, keepToken } from "./api";
import { asServiceError } from "./loaded";

interface Props {
  readonly onAccepted: () => void;
}

export function TokenForm({ onAccepted }: Props): JSX.Element {
  const id = useId();
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const enter = async (event: Event): Promise<void> => {
    event.preventDefault();
    keepToken(token);
    try {
      await api.model();
      onAccepted();
    } catch (reason) {
      const error = asServiceError(reason);
      setProblem(error.status === 401 ? "That token is not the right one." : error.message);
    }
  };
  return (
    <main class="alone">
      <form class="panel" onSubmit={(event) => void enter(event)}>
        <h2>This service asks for a token</h2>
        <p class="hint">Whoever runs it has one. It is kept in this tab until you close it, and never in a link.</p>
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
            Go on
          </button>
        </div>
      </form>
    </main>
  );
}
