/** Shows an error of the service, with its suggestions and a retry button where they help. */

import type { JSX } from "preact";
import type { ServiceError } from "../api/client";

interface Props {
  readonly error: ServiceError;
  readonly onRetry: () => void;
  /** Called with a suggested name; without it, suggestions are plain text. */
  readonly onSuggestion?: ((name: string) => void) | undefined;
}

export function ErrorMessage({ error, onRetry, onSuggestion }: Props): JSX.Element {
  return (
    <div class="error-message" role="alert">
      <p>
        <strong>{error.retryable ? "Service not available" : "Invalid request"}</strong>
      </p>
      <p>{toSentence(error.suggestions.length ? error.message.replace(/; did you mean.*$/, "") : error.message)}</p>
      {error.suggestions.length > 0 && (
        <p class="row">
          <span>Did you mean</span>
          {error.suggestions.map((name) =>
            onSuggestion ? (
              <button type="button" class="secondary" key={name} onClick={() => onSuggestion(name)}>
                {name}
              </button>
            ) : (
              <em key={name}>{name}</em>
            ),
          )}
        </p>
      )}
      {error.retryable && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

function toSentence(text: string): string {
  const capitalized = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(capitalized) ? capitalized : `${capitalized}.`;
}
