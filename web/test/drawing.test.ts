import { describe, expect, test } from "vitest";
import type { Path, Step } from "../src/contract";
import { drawing, wrapped, type Asked } from "../src/drawing";

const measure = (text: string): number => text.length * 7;
const asked: Asked = { actor: "New", answer: "Answer", side: "subject", relation: "Consult", at: "2024-05-01" };

function step(subject: string, relation: string, object: string, forward: boolean, time = "2024-04-01"): Step {
  return { subject, relation, object, time, forward, probability: 0.5, confidence: null };
}

function path(steps: Step[], by_crowd = false): Path {
  return { steps, by_crowd, log_prob: -1, text: "" };
}

const overBridge = path([step("New", "Accuse", "Bridge", true), step("Answer", "Accuse", "Bridge", false)]);

describe("a drawing", () => {
  test("keeps the real direction of facts that the path takes backwards", () => {
    const { edges } = drawing(asked, [overBridge], 640, measure);
    expect(edges.map(({ source, target }) => `${source}>${target}`)).toEqual(["New>Answer", "New>Bridge", "Answer>Bridge"]);
  });

  test("turns the question round where the actor is the object", () => {
    const { edges } = drawing({ ...asked, side: "object" }, [], 640, measure);
    expect(edges[0]).toMatchObject({ source: "Answer", target: "New", kind: "asked" });
  });

  test("has the actor first, the answer last, and bridges between", () => {
    const { nodes } = drawing(asked, [overBridge], 640, measure);
    const x = new Map(nodes.map((node) => [node.id, node.x]));
    expect(x.get("New")).toBeLessThan(x.get("Bridge") ?? 0);
    expect(x.get("Bridge")).toBeLessThan(x.get("Answer") ?? 0);
  });

  test("runs downwards where it is narrow", () => {
    const { nodes } = drawing(asked, [overBridge], 340, measure);
    const y = nodes.filter(({ role }) => role !== "via").map((node) => node.y);
    expect(y[0]).toBeLessThan(y[1] ?? 0);
  });

  test("says which edges belong to which path, a shared fact to both", () => {
    const longer = path([step("New", "Accuse", "Bridge", true), step("Bridge", "Praise", "Answer", true)]);
    const { edges } = drawing(asked, [overBridge, longer], 640, measure);
    expect(edges.map(({ paths }) => paths)).toEqual([[], [0, 1], [0], [1]]);
  });

  test("bends edges between the same two nodes apart, whichever way they run", () => {
    const direct = [path([step("New", "Praise", "Answer", true)]), path([step("Answer", "Accuse", "New", false)])];
    const { edges } = drawing(asked, direct, 640, measure);
    const middles = edges.map(({ source, bend }) => (source === "New" ? bend : -bend));
    expect(new Set(middles).size).toBe(3);
  });

  test("shows what others did beside the actor, not as a path from it", () => {
    const { nodes, edges } = drawing(asked, [path([step("Peer", "Consult", "Answer", true)], true)], 640, measure);
    expect(nodes.find(({ id }) => id === "Peer")).toMatchObject({ role: "other" });
    expect(edges.at(-1)).toMatchObject({ source: "Peer", target: "Answer", kind: "crowd" });
  });

  test.each([
    ["beside the actor's own paths", 640, 3],
    ["alone on a narrow page", 340, 1],
  ])("of what others did, %s, never puts one node upon another", (_where, width, most) => {
    const crowd = ["P", "Q"].map((peer) => path([step(peer, "Consult", "Answer", true)], true));
    const { nodes } = drawing(asked, [...crowd, overBridge].slice(0, most), width, measure);
    for (const one of nodes) {
      for (const other of nodes.filter((node) => node !== one)) {
        const beside = Math.abs(one.x - other.x) >= one.width;
        const below = Math.abs(one.y - other.y) >= (one.height + other.height) / 2;
        expect(beside || below).toBe(true);
      }
    }
  });

  test("has room for every edge between the same two nodes", () => {
    const over = ["Praise", "Accuse", "Consult"].map((deed) =>
      path([step("New", "Accuse", "Bridge", true), step("Bridge", deed, "Answer", true)]),
    );
    const { nodes, edges, height } = drawing(asked, over, 640, measure);
    const bridge = nodes.find(({ id }) => id === "Bridge");
    const bends = edges.filter(({ source }) => source === "Bridge").map(({ bend }) => bend);
    expect(new Set(bends).size).toBe(3);
    expect((bridge?.y ?? 0) / 2 + height / 4 + Math.max(...bends)).toBeLessThan(height);
  });

  test("has everything inside its frame", () => {
    for (const width of [320, 640, 1000]) {
      const { nodes, height } = drawing(asked, [overBridge, path([step("New", "x", "Answer", true)])], width, measure);
      for (const node of nodes) {
        expect(node.x - node.width / 2).toBeGreaterThanOrEqual(0);
        expect(node.x + node.width / 2).toBeLessThanOrEqual(width);
        expect(node.y - node.height / 2).toBeGreaterThanOrEqual(0);
        expect(node.y + node.height / 2).toBeLessThanOrEqual(height);
      }
    }
  });
});

test("text is wrapped at words, and within words that are too long", () => {
  expect(wrapped("Ministry of Foreign Affairs", 70, measure)).toEqual(["Ministry", "of Foreign", "Affairs"]);
  expect(wrapped("Abcdefghijklmnop", 70, measure)).toEqual(["Abcdefghij", "klmnop"]);
});
