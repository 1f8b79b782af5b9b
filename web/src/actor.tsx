import type { JSX } from "preact";
import type { Change } from "./address";
import type { Profile } from "./asked";
import { Combobox } from "./combobox";
import { entityChoices } from "./completion";
import type { Loaded } from "./loaded";
import { counted } from "./numbers";
import { withActor, type State } from "./state";

interface Props {
  readonly state: State;
  readonly profile: Loaded<Profile>;
  readonly change: Change;
}

export function ActorPanel({ state, profile, change }: Props): JSX.Element {
  return (
    <section class="panel" aria-label="Actor">
      <ActorField state={state} change={change} />
      <p class="hint profile" aria-live="polite">
        {profile.of === state.actor && profile.value ? <Told profile={profile.value} /> : " "}
      </p>
    </section>
  );
}

export function ActorField({ state, change }: Omit<Props, "profile">): JSX.Element {
  return (
    <Combobox
      large
      label="Actor"
      value={state.actor}
      placeholder="Find or invent an actor"
      search={entityChoices}
      fresh="new actor"
      onChoose={(actor) => change(withActor(state, actor))}
    />
  );
}

function Told({ profile: { known, entity } }: { readonly profile: Profile }): JSX.Element {
  if (!known) {
    return (
      <>
        <span class="badge new">New</span> The model has never met it and goes by the facts below.
      </>
    );
  }
  const what = [...(entity?.concepts ?? []), ...(entity ? [counted(entity.facts, "fact")] : [])].join(" · ");
  return (
    <>
      <span class="badge">Known</span> {what}
    </>
  );
}
