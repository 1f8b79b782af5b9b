/** An empty page: what this is for, and an example to begin with. */

import type { JSX } from "preact";
import { ActorField } from "./actor";
import type { Change } from "./address";
import { api } from "./api";
import { ArrowIcon } from "./icons";
import { useLoaded } from "./loaded";
import { ofExample, type State } from "./state";

interface Props {
  readonly state: State;
  readonly change: Change;
}

export function Welcome({ state, change }: Props): JSX.Element {
  const example = useLoaded("example", api.example);
  return (
    <section class="welcome" aria-labelledby="welcome-title">
      <Sketch />
      <h2 id="welcome-title">Someone new appears. Whom will they deal with next, and why?</h2>
      <p>
        Name an actor, note one to a few dated facts about it, and ask. Every answer shows the facts that led to it, and
        you can take any of them away to see what changes.
      </p>
      <ActorField state={state} change={change} />
      {example.value && (
        <button type="button" onClick={() => example.value && change(ofExample(example.value))}>
          Show me an example <ArrowIcon />
        </button>
      )}
    </section>
  );
}

/** A newcomer, two bridges, and the answer. */
function Sketch(): JSX.Element {
  return (
    <svg class="sketch" viewBox="0 0 420 150" role="presentation" aria-hidden="true">
      <path class="asked" d="M44 84C150 0 270 0 376 84" />
      <path d="M44 84 150 116M150 116 268 72M268 72 376 84" />
      <path class="faint" d="M150 116 214 140M268 72 214 140M268 72 330 132M376 84 330 132" />
      <circle cx="214" cy="140" r="5" class="faint" />
      <circle cx="330" cy="132" r="5" class="faint" />
      <circle cx="44" cy="84" r="12" class="actor" />
      <circle cx="150" cy="116" r="8" />
      <circle cx="268" cy="72" r="8" />
      <circle cx="376" cy="84" r="14" class="answer" />
    </svg>
  );
}
