import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { api, ServiceError, storeToken } from "../../src/api/client";

const fetchMock = vi.fn<(url: URL, request: RequestInit) => Promise<Response>>();

beforeEach(() => {
  const stored = new Map<string, string>();
  vi.stubGlobal("fetch", fetchMock);
  vi.stubGlobal("document", { baseURI: "http://example.test/app/" });
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
  });
});

afterEach(() => {
  fetchMock.mockReset();
  vi.unstubAllGlobals();
});

function respond(status: number, payload: unknown): void {
  fetchMock.mockResolvedValue(new Response(JSON.stringify(payload), { status }));
}

function sent(): { readonly url: string; readonly request: RequestInit; readonly headers: Headers } {
  const [url, request] = fetchMock.mock.calls[0] ?? [];
  if (!url || !request) throw new Error("nothing was sent");
  return { url: url.href, request, headers: request.headers as Headers };
}

describe("requests", () => {
  test("are relative to the page and encode path parameters", async () => {
    respond(200, { name: "A/B?", known: false, facts: [] });
    await api.storedFacts("A/B?");
    expect(sent().url).toBe("http://example.test/app/v1/actors/A%2FB%3F");
    expect(sent().request).toMatchObject({ method: "GET" });
  });

  test("encode the search text", async () => {
    respond(200, { entities: [] });
    expect(await api.entities("a & b")).toEqual([]);
    expect(sent().url).toBe("http://example.test/app/v1/entities?search=a+%26+b&limit=8");
  });

  test("send a JSON body", async () => {
    respond(200, { entity: "B", rank: 1, share: 0.5, paths: [] });
    await api.explain({ subject: "A", relation: "r", at: "1" }, "B");
    expect(sent().request).toMatchObject({ method: "POST" });
    expect(JSON.parse(String(sent().request.body))).toEqual({ subject: "A", relation: "r", at: "1", entity: "B" });
    expect(sent().headers.get("Content-Type")).toBe("application/json");
  });

  test("carry the stored token in a header", async () => {
    storeToken(" secret ");
    respond(200, {});
    await api.model();
    expect(sent().headers.get("Authorization")).toBe("Bearer secret");
  });
});

describe("errors", () => {
  test("contain the message, the field and the suggestions of the service", async () => {
    respond(422, { error: { message: "unknown relation", field: "relation", suggestions: ["Consult"] } });
    const error = await api.model().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: "unknown relation", status: 422, field: "relation", suggestions: ["Consult"] });
    expect((error as ServiceError).retryable).toBe(false);
  });

  test("without a JSON body contain the status", async () => {
    fetchMock.mockResolvedValue(new Response("<html>", { status: 502 }));
    await expect(api.model()).rejects.toMatchObject({ message: "The service returned an error (status 502).", retryable: true });
  });

  test("of the network are retryable", async () => {
    fetchMock.mockRejectedValue(new TypeError("failed"));
    await expect(api.model()).rejects.toMatchObject({ status: 0, retryable: true });
  });

  test("of an aborted request are passed on", async () => {
    fetchMock.mockRejectedValue(new DOMException("aborted", "AbortError"));
    await expect(api.model()).rejects.toBeInstanceOf(DOMException);
  });
});
