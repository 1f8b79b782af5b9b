/** Start page: a short introduction, the entity field and an example. */

import type { JSX } from "preact";
import { api } from "../api/client";
import { ArrowIcon } from "../components/icons";
import { useAsync } from "../hooks/useAsync";
import type { UpdateState } from "../hooks/useUrlState";
import { stateFromExample, type State } from "../state/state";
import { EntityField } from "./EntityPanel";

interface Props {
  readonly state: State;
  readonly update: UpdateState;
}

export function WelcomePanel({ state, update }: Props): JSX.Element {
  const example = useAsync("example", api.example);
  return (
    <section class="welcome" aria-labelledby="welcome-title">
      <Illustration />
      <h2 id="welcome-title">Predict links of a new entity from a few facts</h2>
      <p>
        Enter an entity and one to three dated facts about it, then choose a relation and a time. The answers are ranked
        and explained by paths of known facts. Switch facts off to see how the answers change.
      </p>
      <EntityField state={state} update={update} />
      {example.value && (
        <button type="button" onClick={() => example.value && update(stateFromExample(example.value))}>
          Show an example <ArrowIcon />
        </button>
      )}
    </section>
  );
}

/** An entity, a path over two nodes, and the predicted link to the answer. */
function Illustration(): JSX.Element {
  return (
    <svg class="illustration" viewBox="0 0 420 150" role="presentation" aria-hidden="true">
      <path class="predicted" d="M44 84C150 0 270 0 376 84" />
      <path d="M44 84 150 116M150 116 268 72M268 72 376 84" />
      <path class="faint" d="M150 116 214 140M268 72 214 140M268 72 330 132M376 84 330 132" />
      <circle cx="214" cy="140" r="5" class="faint" />
      <circle cx="330" cy="132" r="5" class="faint" />
      <circle cx="44" cy="84" r="12" class="entity" />
      <circle cx="150" cy="116" r="8" />
      <circle cx="268" cy="72" r="8" />
      <circle cx="376" cy="84" r="14" class="answer" />
    </svg>
  );
}
