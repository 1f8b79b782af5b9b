/** Typed client of the HTTP service. */

import type {
  Body,
  Entity,
  EntityFacts,
  Example,
  Explanation,
  Fact,
  Model,
  Operation,
  Prediction,
  QueryRequest,
  Relation,
  Reply,
} from "./types";

/** An error reported by the service, or a failure to reach it (status 0). */
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

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return [0, 408, 429, 502, 503, 504].includes(this.status);
  }
}

export function toServiceError(reason: unknown): ServiceError {
  if (reason instanceof ServiceError) return reason;
  return new ServiceError(reason instanceof Error ? reason.message : String(reason), 0);
}

const TOKEN_KEY = "fitcarl-token";
const SUGGESTION_LIMIT = 8;

/** Stores the token in the session storage of the tab; it is never part of the URL. */
export function storeToken(token: string): void {
  sessionStorage.setItem(TOKEN_KEY, token.trim());
}

export const api = {
  model: (signal?: AbortSignal): Promise<Model> => call("GET /v1/model", { signal }),
  example: (signal?: AbortSignal): Promise<Example> => call("GET /v1/example", { signal }),
  entities: async (search: string, signal?: AbortSignal): Promise<readonly Entity[]> =>
    (await call("GET /v1/entities", { search: searchParams(search), signal })).entities,
  relations: async (search: string, signal?: AbortSignal): Promise<readonly Relation[]> =>
    (await call("GET /v1/relations", { search: searchParams(search), signal })).relations,
  storedFacts: (name: string, signal?: AbortSignal): Promise<EntityFacts> =>
    call("GET /v1/actors/{name}", { parameter: name, signal }),
  predict: (query: QueryRequest, signal?: AbortSignal): Promise<Prediction> =>
    call("POST /v1/predict", { body: query, signal }) as Promise<Prediction>, // a list only answers a list
  explain: (query: QueryRequest, entity: string, signal?: AbortSignal): Promise<Explanation> =>
    call("POST /v1/explain", { body: { ...query, entity }, signal }),
  observe: (facts: readonly Fact[]): Promise<Reply<"POST /v1/observe">> => call("POST /v1/observe", { body: { facts } }),
  removeStoredFact: (id: string): Promise<Reply<"DELETE /v1/facts/{identity}">> =>
    call("DELETE /v1/facts/{identity}", { parameter: id }),
};

interface CallOptions<Name extends Operation> {
  /** Value of the path parameter in braces. */
  readonly parameter?: string;
  readonly search?: URLSearchParams;
  readonly body?: Body<Name>;
  readonly signal?: AbortSignal | undefined;
}

async function call<Name extends Operation>(operation: Name, options: CallOptions<Name>): Promise<Reply<Name>> {
  const [method, template] = operation.split(" ") as [string, string];
  const path = template.slice(1).replace(/\{\w+\}/, encodeURIComponent(options.parameter ?? ""));
  const url = new URL(path, document.baseURI);
  url.search = options.search?.toString() ?? "";
  const headers = new Headers({ Accept: "application/json" });
  const token = sessionStorage.getItem(TOKEN_KEY);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  const request: RequestInit = { method, headers, signal: options.signal ?? null, cache: "no-store" };
  if (options.body !== undefined) {
    headers.set("Content-Type", "application/json");
    request.body = JSON.stringify(options.body);
  }
  const response = await send(url, request);
  const payload: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorFromPayload(response.status, payload);
  return payload as Reply<Name>;
}

async function send(url: URL, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, request);
  } catch (reason) {
    if (reason instanceof DOMException && reason.name === "AbortError") throw reason;
    throw new ServiceError("The service does not respond. It may have been stopped, or the network is down.", 0);
  }
}

function errorFromPayload(status: number, payload: unknown): ServiceError {
  const error = (payload as { error?: Partial<ServiceError> } | null)?.error;
  const message = error?.message ?? `The service returned an error (status ${status}).`;
  return new ServiceError(message, status, error?.field ?? null, error?.suggestions ?? []);
}

function searchParams(search: string): URLSearchParams {
  return new URLSearchParams({ search, limit: String(SUGGESTION_LIMIT) });
}
