/** The question of the page, put to the service: the answers, what they are compared with, and who the actor is. */

import { api } from "./api";
import type { Actor, Entity, Fact, Prediction } from "./contract";
import { useLoaded, type Loaded } from "./loaded";
import { movement, type Movement } from "./movement";
import { baselineOf, questionOf, type State } from "./state";

/** What the service knows about the actor. */
export interface Profile extends Actor {
  /** As the trained model has it; null for a name it has never heard. */
  readonly entity: Entity | null;
}

export interface Asked {
  readonly profile: Loaded<Profile>;
  readonly now: Loaded<Prediction>;
  /** What moved because facts are off; null while there is nothing to compare with. */
  readonly movement: Movement | null;
  /** Whether there is anything to answer from: a fact of the page or of the store, or a known actor. */
  readonly grounded: boolean;
}

const PAUSE = 150;

export function useAsked(state: State): Asked {
  const profile = useLoaded(state.actor || null, (signal) => profileOf(state.actor, signal));
  const settled = profile.of === state.actor ? profile.value : null;
  const grounded = state.facts.some(({ on }) => on) || Boolean(settled && hasGround(settled));

  const question = grounded ? questionOf(state) : null;
  const stored = keyOf(settled?.facts ?? []);
  const now = useLoaded(
    question && JSON.stringify([question, stored]),
    (signal) => (question ? api.predict(question, signal) : Promise.reject(new Error("nothing is asked"))),
    PAUSE,
  );

  const before = question ? baselineOf(state) : null;
  const baseline = before && questionOf(before);
  const compared = useLoaded(
    baseline && JSON.stringify([baseline, stored]),
    (signal) => (baseline ? api.predict(baseline, signal) : Promise.reject(new Error("nothing is compared"))),
    PAUSE,
  );
  const comparable = baseline && now.value && compared.value && !compared.busy;
  const moved = comparable && now.value && compared.value ? movement(now.value.answers, compared.value.answers) : null;
  return { profile, now, movement: moved, grounded };
}

function hasGround(profile: Profile): boolean {
  return profile.known || profile.facts.length > 0;
}

async function profileOf(name: string, signal: AbortSignal): Promise<Profile> {
  const near = await api.entities(name, signal);
  const entity = near.find((candidate) => candidate.name === name) ?? null;
  const facts = entity?.observed ? (await api.actor(name, signal)).facts : [];
  return { name, known: (entity?.facts ?? 0) > 0, facts, entity };
}

function keyOf(facts: readonly Fact[]): string {
  return facts.map(({ subject, relation, object, time }) => [subject, relation, object, time].join("\t")).join("\n");
}
