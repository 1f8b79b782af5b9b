import type { JSX } from "preact";
import type { Model } from "./contract";
import { LinkIcon, MoonIcon, SunIcon } from "./icons";
import { thousands } from "./numbers";
import type { Theme } from "./theme";

interface Props {
  readonly model: Model | null;
  readonly theme: Theme;
  readonly onTheme: (theme: Theme) => void;
  readonly onNotice: (text: string) => void;
}

export function Header({ model, theme, onTheme, onNotice }: Props): JSX.Element {
  const other = theme === "dark" ? "light" : "dark";
  const copy = (): void => {
    navigator.clipboard.writeText(location.href).then(
      () => onNotice("The link is copied. It holds the facts and the question."),
      () => onNotice("Copy the link from the address bar: it holds the facts and the question."),
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
        <button type="button" class="quiet" aria-label="Copy link" onClick={copy}>
          <LinkIcon />
          <span>Copy link</span>
        </button>
        <button type="button" class="icon" aria-label={`Use ${other} colours`} onClick={() => onTheme(other)}>
          {theme === "dark" ? <SunIcon /> : <MoonIcon />}
        </button>
      </div>
    </header>
  );
}

function About({ model }: { readonly model: Model }): JSX.Element {
  const rows: [string, string][] = [
    ["Data", model.data],
    ["Actors", thousands(model.entities)],
    ["Relations", thousands(model.relations)],
    ["Facts", thousands(model.facts)],
    ["From", model.first_time],
    ["To", model.last_time],
    ["Model", `${model.preset}, trained for ${model.shots} facts a newcomer`],
    ["Version", model.version],
    ["Signature", model.signature],
  ];
  return (
    <details class="about">
      <summary>
        <span class="wide-only">
          {thousands(model.entities)} actors · {thousands(model.facts)} facts · {model.first_time} to {model.last_time}
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
