import { describe, expect, test } from "vitest";
import type { Path, Step } from "../../src/api/types";
import { layoutPaths, type PredictedLink } from "../../src/drawing/layout";
import { wrapText } from "../../src/drawing/wrapText";

const measure = (text: string): number => text.length * 7;
const link: PredictedLink = { entity: "New", answer: "Answer", side: "subject", relation: "Consult", at: "2024-05-01" };

function step(subject: string, relation: string, object: string, forward: boolean, time = "2024-04-01"): Step {
  return { subject, relation, object, time, forward, probability: 0.5, confidence: null, after_question: false };
}

function path(steps: Step[], is_context = false): Path {
  return { steps, is_context, log_prob: -1, text: "" };
}

const viaBridge = path([step("New", "Accuse", "Bridge", true), step("Answer", "Accuse", "Bridge", false)]);

describe("layoutPaths", () => {
  test("draws facts in their own direction if the path traverses them inversely", () => {
    const { edges } = layoutPaths(link, [viaBridge], 640, measure);
    expect(edges.map(({ source, target }) => `${source}>${target}`)).toEqual(["New>Answer", "New>Bridge", "Answer>Bridge"]);
  });

  test("reverses the predicted link if the entity is the object", () => {
    const { edges } = layoutPaths({ ...link, side: "object" }, [], 640, measure);
    expect(edges[0]).toMatchObject({ source: "Answer", target: "New", kind: "predicted" });
  });

  test("places the entity first, the answer last, and other nodes between them", () => {
    const { nodes } = layoutPaths(link, [viaBridge], 640, measure);
    const x = new Map(nodes.map((node) => [node.id, node.x]));
    expect(x.get("New")).toBeLessThan(x.get("Bridge") ?? 0);
    expect(x.get("Bridge")).toBeLessThan(x.get("Answer") ?? 0);
  });

  test("is vertical on narrow pages", () => {
    const { nodes } = layoutPaths(link, [viaBridge], 340, measure);
    const y = nodes.filter(({ role }) => role !== "intermediate").map((node) => node.y);
    expect(y[0]).toBeLessThan(y[1] ?? 0);
  });

  test("lists the paths of each edge, both paths for a shared fact", () => {
    const longer = path([step("New", "Accuse", "Bridge", true), step("Bridge", "Praise", "Answer", true)]);
    const { edges } = layoutPaths(link, [viaBridge, longer], 640, measure);
    expect(edges.map(({ paths }) => paths)).toEqual([[], [0, 1], [0], [1]]);
  });

  test("bends edges between the same two nodes apart in both directions", () => {
    const direct = [path([step("New", "Praise", "Answer", true)]), path([step("Answer", "Accuse", "New", false)])];
    const { edges } = layoutPaths(link, direct, 640, measure);
    const bends = edges.map(({ source, bend }) => (source === "New" ? bend : -bend));
    expect(new Set(bends).size).toBe(3);
  });

  test("marks facts that are later than the query", () => {
    const later = { ...step("New", "Praise", "Answer", true, "2024-06-01"), after_question: true };
    const { edges } = layoutPaths(link, [path([later])], 640, measure);
    expect(edges.at(-1)?.label).toContain("2024-06-01 (later)");
  });

  test("does not connect context facts to the entity", () => {
    const { nodes, edges } = layoutPaths(link, [path([step("Peer", "Consult", "Answer", true)], true)], 640, measure);
    expect(nodes.find(({ id }) => id === "Peer")).toMatchObject({ role: "context" });
    expect(edges.at(-1)).toMatchObject({ source: "Peer", target: "Answer", kind: "context" });
  });

  test.each([
    ["paths and context facts", 640, 3],
    ["one context fact on a narrow page", 340, 1],
  ])("does not overlap nodes: %s", (_case, width, count) => {
    const context = ["P", "Q"].map((peer) => path([step(peer, "Consult", "Answer", true)], true));
    const { nodes } = layoutPaths(link, [...context, viaBridge].slice(0, count), width, measure);
    for (const one of nodes) {
      for (const other of nodes.filter((node) => node !== one)) {
        const apartX = Math.abs(one.x - other.x) >= one.width;
        const apartY = Math.abs(one.y - other.y) >= (one.height + other.height) / 2;
        expect(apartX || apartY).toBe(true);
      }
    }
  });

  test("leaves room for all edges between the same two nodes", () => {
    const paths = ["Praise", "Accuse", "Consult"].map((relation) =>
      path([step("New", "Accuse", "Bridge", true), step("Bridge", relation, "Answer", true)]),
    );
    const { nodes, edges, height } = layoutPaths(link, paths, 640, measure);
    const bridge = nodes.find(({ id }) => id === "Bridge");
    const bends = edges.filter(({ source }) => source === "Bridge").map(({ bend }) => bend);
    expect(new Set(bends).size).toBe(3);
    expect((bridge?.y ?? 0) / 2 + height / 4 + Math.max(...bends)).toBeLessThan(height);
  });

  test("keeps all nodes inside the frame", () => {
    for (const width of [320, 640, 1000]) {
      const { nodes, height } = layoutPaths(link, [viaBridge, path([step("New", "x", "Answer", true)])], width, measure);
      for (const node of nodes) {
        expect(node.x - node.width / 2).toBeGreaterThanOrEqual(0);
        expect(node.x + node.width / 2).toBeLessThanOrEqual(width);
        expect(node.y - node.height / 2).toBeGreaterThanOrEqual(0);
        expect(node.y + node.height / 2).toBeLessThanOrEqual(height);
      }
    }
  });
});

test("wrapText breaks at spaces, and inside words that are too long", () => {
  expect(wrapText("Ministry of Foreign Affairs", 70, measure)).toEqual(["Ministry", "of Foreign", "Affairs"]);
  expect(wrapText("Abcdefghijklmnop", 70, measure)).toEqual(["Abcdefghij", "klmnop"]);
});
