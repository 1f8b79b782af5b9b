/** What went wrong, in the service's words, and what can be done about it. */

import type { JSX } from "preact";
import type { ServiceError } from "./api";

interface Props {
  readonly error: ServiceError;
  readonly onRetry: () => void;
  /** Takes a name that the service suggests; suggestions are shown as text without it. */
  readonly onSuggestion?: ((name: string) => void) | undefined;
}

export function Failure({ error, onRetry, onSuggestion }: Props): JSX.Element {
  return (
    <div class="failure" role="alert">
      <p>
        <strong>{error.passing ? "No answer just now" : "This cannot be answered"}</strong>
      </p>
      <p>{sentence(error.suggestions.length ? error.message.replace(/; did you mean.*$/, "") : error.message)}</p>
      {error.suggestions.length > 0 && (
        <p class="row">
          <span>Did you mean</span>
          {error.suggestions.map((name) =>
            onSuggestion ? (
              <button type="button" class="quiet" key={name} onClick={() => onSuggestion(name)}>
                {name}
              </button>
            ) : (
              <em key={name}>{name}</em>
            ),
          )}
        </p>
      )}
      {error.passing && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(begun) ? begun : `${begun}.`;
}
