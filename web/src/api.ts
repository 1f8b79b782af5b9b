/** The service as this page calls it. */

import type {
  Actor,
  Entity,
  Example,
  Explanation,
  Fact,
  Model,
  Prediction,
  Question,
  Relation,
  StoredFact,
} from "./contract";

/** What the service said when it could not do as asked, or what kept it from saying anything. */
export class ServiceError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly field: string | null = null,
    readonly suggestions: readonly string[] = [],
  ) {
    super(message);
    this.name = "ServiceError";
  }

  /** Whether the same request may succeed a little later. */
  get passing(): boolean {
    return [0, 408, 429, 502, 503, 504].includes(this.status);
  }
}

const TOKEN = "fitcarl-token";

/** The token lives as long as the tab, and never in the address. */
export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN, token.trim());
}

export const api = {
  model: (signal?: AbortSignal): Promise<Model> => call("GET", "model", { signal }),
  example: (signal?: AbortSignal): Promise<Example> => call("GET", "example", { signal }),
  entities: async (search: string, signal?: AbortSignal): Promise<readonly Entity[]> =>
    (await call<{ entities: Entity[] }>("GET", `entities?${query(search)}`, { signal })).entities,
  relations: async (search: string, signal?: AbortSignal): Promise<readonly Relation[]> =>
    (await call<{ relations: Relation[] }>("GET", `relations?${query(search)}`, { signal })).relations,
  actor: (name: string, signal?: AbortSignal): Promise<Actor> =>
    call("GET", `actors/${encodeURIComponent(name)}`, { signal }),
  predict: (question: Question, signal?: AbortSignal): Promise<Prediction> =>
    call("POST", "predict", { body: question, signal }),
  explain: (question: Question, entity: string, signal?: AbortSignal): Promise<Explanation> =>
    call("POST", "explain", { body: { ...question, entity }, signal }),
  observe: (facts: readonly Fact[]): Promise<{ added: number; facts: StoredFact[] }> =>
    call("POST", "observe", { body: { facts } }),
  forget: (id: string): Promise<unknown> => call("DELETE", `facts/${encodeURIComponent(id)}`, {}),
};

interface Extras {
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

async function call<Reply>(method: string, path: string, { body, signal }: Extras): Promise<Reply> {
  const headers = new Headers({ Accept: "application/json" });
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  if (body !== undefined) headers.set("Content-Type", "application/json");
  const request: RequestInit = { method, headers, signal: signal ?? null, cache: "no-store" };
  if (body !== undefined) request.body = JSON.stringify(body);
  const response = await reached(new URL(`v1/${path}`, document.baseURI), request);
  const said: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorOf(response.status, said);
  return said as Reply;
}

async function reached(url: URL, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, request);
  } catch (reason) {
    if (reason instanceof DOMException && reason.name === "AbortError") throw reason;
    throw new ServiceError("The service does not answer. It may have been stopped, or the network is down.", 0);
  }
}

function errorOf(status: number, said: unknown): ServiceError {
  const error = (said as { error?: Partial<ServiceError> } | null)?.error;
  const message = error?.message ?? `The service answered with an error (${status}).`;
  return new ServiceError(message, status, error?.field ?? null, error?.suggestions ?? []);
}

function query(search: string): string {
  return new URLSearchParams({ search, limit: "8" }).toString();
}
