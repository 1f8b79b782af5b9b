/** Title bar: the served model, a link to the current state, and the theme. */

import type { JSX } from "preact";
import type { Model } from "../api/types";
import { LinkIcon, MoonIcon, SunIcon } from "../components/icons";
import type { Theme } from "../hooks/useTheme";
import { formatInteger } from "../state/format";

interface Props {
  readonly model: Model | null;
  readonly theme: Theme;
  readonly onTheme: (theme: Theme) => void;
  readonly notify: (message: string) => void;
}

export function Header({ model, theme, onTheme, notify }: Props): JSX.Element {
  const other = theme === "dark" ? "light" : "dark";
  const copyLink = (): void => {
    navigator.clipboard.writeText(location.href).then(
      () => notify("Link copied. It contains the facts and the query."),
      () => notify("Copy the link from the address bar. It contains the facts and the query."),
    );
  };
  return (
    <header class="top">
      <h1 class="wordmark">
        <img src="./mark.svg" alt="" width="28" height="28" />
        fitcarl <span>explorer</span>
      </h1>
      {model && <About model={model} />}
      <div class="tools">
        <button type="button" class="secondary" aria-label="Copy link" onClick={copyLink}>
          <LinkIcon />
          <span>Copy link</span>
        </button>
        <button type="button" class="icon" aria-label={`Use ${other} theme`} onClick={() => onTheme(other)}>
          {theme === "dark" ? <SunIcon /> : <MoonIcon />}
        </button>
      </div>
    </header>
  );
}

function About({ model }: { readonly model: Model }): JSX.Element {
  const rows: [string, string][] = [
    ["Data", model.data],
    ["Entities", formatInteger(model.entities)],
    ["Relations", formatInteger(model.relations)],
    ["Facts", formatInteger(model.facts)],
    ["From", model.first_time],
    ["To", model.last_time],
    ["Model", `${model.preset}, trained with ${model.shots} facts per new entity`],
    ["Version", model.version],
    ["Signature", model.signature],
  ];
  return (
    <details class="about">
      <summary>
        <span class="wide-only">
          {formatInteger(model.entities)} entities · {formatInteger(model.facts)} facts · {model.first_time} to{" "}
          {model.last_time}
        </span>
        <span class="narrow-only">About</span>
      </summary>
      <dl>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
