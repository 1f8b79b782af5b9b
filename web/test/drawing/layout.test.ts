import { describe, expect, test } from "vitest";
import type { Path, Step } from "../../src/api/types";
import { controlDistance, labelBox, type Box, type GraphLayout } from "../../src/drawing/frame";
import { isVertical, layoutPaths, type PredictedLink } from "../../src/drawing/layout";
import { wrapText } from "../../src/drawing/wrapText";

const measure = (text: string): number => text.length * 7;
const link: PredictedLink = { entity: "New", answer: "Answer", side: "subject", relation: "Consult", at: "2024-05-01" };

function step(subject: string, relation: string, object: string, forward: boolean, time = "2024-04-01"): Step {
  return { subject, relation, object, time, forward, probability: 0.5, confidence: null, after_question: false };
}

function path(steps: Step[], kind: Path["kind"] = "path", measured: Partial<Path> = {}): Path {
  const unmeasured = { also: [], share_without: null, rank_without: null };
  return { steps, kind, is_context: kind === "context", log_prob: -1, text: "", ...unmeasured, ...measured };
}

/** Names of the ends of each edge, in the direction of the edge. */
function ends({ nodes, edges }: GraphLayout): string[] {
  const name = (id: string): string | undefined => nodes.find((node) => node.id === id)?.label;
  return edges.map(({ source, target }) => `${name(source)}>${name(target)}`);
}

function overlap(one: Box, other: Box): boolean {
  const apartX = Math.abs(one.x - other.x) >= (one.width + other.width) / 2;
  const apartY = Math.abs(one.y - other.y) >= (one.height + other.height) / 2;
  return !apartX && !apartY;
}

const viaBridge = path([step("New", "Accuse", "Bridge", true), step("Answer", "Accuse", "Bridge", false)]);
const direct = path([step("New", "Praise", "Answer", true)]);
const viaPeer = path(
  [step("Shared", "Consult", "New", false), step("Shared", "Consult", "Peer", true), step("Answer", "Praise", "Peer", false)],
  "peers",
);
const viaTwo = path([step("New", "Consult", "A", true), step("A", "Consult", "B", true), step("B", "Consult", "Answer", true)]);
const context = path([step("Other", "Consult", "Answer", true)], "context");

describe("layoutPaths", () => {
  test("draws facts in their own direction if the path traverses them inversely", () => {
    const layout = layoutPaths(link, [viaBridge], 640, measure);
    expect(ends(layout)).toEqual(["New>Answer", "New>Bridge", "Answer>Bridge"]);
  });

  test("reverses the predicted link if the entity is the object", () => {
    const layout = layoutPaths({ ...link, side: "object" }, [], 640, measure);
    expect(ends(layout)).toEqual(["Answer>New"]);
    expect(layout.edges[0]).toMatchObject({ kind: "predicted" });
  });

  test("places the entity first, the answer last, and other nodes between them", () => {
    const { nodes } = layoutPaths(link, [viaBridge], 640, measure);
    const x = new Map(nodes.map((node) => [node.label, node.x]));
    expect(x.get("New")).toBeLessThan(x.get("Bridge") ?? 0);
    expect(x.get("Bridge")).toBeLessThan(x.get("Answer") ?? 0);
  });

  test("is vertical on narrow pages", () => {
    const { nodes } = layoutPaths(link, [viaBridge], 340, measure);
    const y = nodes.filter(({ role }) => role !== "intermediate").map((node) => node.y);
    expect(y[0]).toBeLessThan(y[1] ?? 0);
  });

  test("has one lane per path in the order of the paths, with the query above them", () => {
    const layout = layoutPaths(link, [context, viaTwo, direct, viaBridge], 1000, measure);
    const lanes = [0, 1, 2, 3].map((path) => {
      const boxes = [
        ...layout.nodes.filter((node) => node.path === path),
        ...layout.edges.filter((edge) => edge.path === path && path === 2).map((edge) => labelBox(edge, layout.nodes, measure)),
      ];
      return [...new Set(boxes.map(({ y }) => Math.round(y)))];
    });
    expect(lanes.map(({ length }) => length)).toEqual([1, 1, 1, 1]);
    const order = lanes.flat();
    expect([...order].sort((one, other) => one - other)).toEqual(order);
    const query = layout.edges[0] && labelBox(layout.edges[0], layout.nodes, measure);
    expect(query?.y).toBeLessThan(order[0] ?? 0);
  });

  test("repeats an entity that is on two paths in the lane of each", () => {
    const longer = path([step("New", "Accuse", "Bridge", true), step("Bridge", "Praise", "Answer", true)]);
    const { nodes, edges } = layoutPaths(link, [viaBridge, longer], 640, measure);
    expect(nodes.filter(({ label }) => label === "Bridge").map((node) => node.path)).toEqual([0, 1]);
    expect(edges.map((edge) => edge.path)).toEqual([null, 0, 0, 1, 1]);
  });

  test("bends edges between the same two nodes apart in both directions", () => {
    const paths = [direct, path([step("Answer", "Accuse", "New", false)])];
    const { edges } = layoutPaths(link, paths, 640, measure);
    const bends = edges.map(({ source, bend }) => (source === "entity" ? bend : -bend));
    expect(new Set(bends).size).toBe(3);
  });

  test("draws peers from the entity over two entities to the answer, as facts that the search does not follow", () => {
    const layout = layoutPaths(link, [viaPeer], 1000, measure);
    expect(ends(layout)).toEqual(["New>Answer", "Shared>New", "Shared>Peer", "Answer>Peer"]);
    expect(layout.edges.slice(1).map(({ kind }) => kind)).toEqual(["unfollowed", "unfollowed", "unfollowed"]);
    const x = layout.nodes.map((node) => node.x).sort((one, other) => one - other);
    const gaps = x.slice(1).map((value, index) => Math.round(value - (x[index] ?? 0)));
    expect(new Set(gaps).size).toBe(1);
  });

  test("needs more room for three steps than for two, and is scaled down before it becomes vertical", () => {
    expect([isVertical([viaBridge], 520), isVertical([viaTwo], 520), isVertical([viaTwo], 640)]).toEqual([false, true, false]);
    expect(layoutPaths(link, [viaTwo], 640, measure).width).toBeGreaterThan(640);
    expect(layoutPaths(link, [viaTwo], 520, measure).width).toBe(520);
  });

  test("notes under a lane how often its facts occur and what is left without them", () => {
    const measured = { also: [["2024-03-01", "2024-03-02"]], share_without: 0.123, rank_without: 4 };
    const { nodes, notes } = layoutPaths(link, [path(viaBridge.steps.slice(), "path", measured), direct], 640, measure);
    expect(notes.map(({ label, path }) => [label, path])).toEqual([["twice\nwithout it:\n12.3 % · rank 4", 0]]);
    const bridge = nodes.find(({ label }) => label === "Bridge");
    expect((notes[0]?.y ?? 0) - (notes[0]?.height ?? 0) / 2).toBeGreaterThanOrEqual((bridge?.y ?? 0) + (bridge?.height ?? 0) / 2);
  });

  test("passes through the label of an arc although it starts at the borders of its nodes", () => {
    const { nodes, edges } = layoutPaths(link, [direct, direct, direct], 640, measure);
    const [arc, entity, answer] = [edges.find((edge) => edge.path === 2), nodes[0], nodes[1]];
    if (!arc || !entity || !answer) throw new Error("no arc");
    const control = { x: (entity.x + answer.x) / 2, y: entity.y + controlDistance(arc, nodes) };
    const borders = [entity, answer].map((node) => {
      const part = Math.min(node.width / 2 / Math.abs(control.x - node.x), node.height / 2 / Math.abs(control.y - node.y));
      return node.y + part * (control.y - node.y);
    });
    const middle = 0.25 * ((borders[0] ?? 0) + (borders[1] ?? 0)) + 0.5 * control.y;
    expect(middle).toBeCloseTo(labelBox(arc, nodes, measure).y, 0);
  });

  test("marks facts that are later than the query", () => {
    const later = { ...step("New", "Praise", "Answer", true, "2024-06-01"), after_question: true };
    const { edges } = layoutPaths(link, [path([later])], 640, measure);
    expect(edges.at(-1)?.label).toContain("2024-06-01 (later)");
  });

  test("does not connect context facts to the entity", () => {
    const layout = layoutPaths(link, [context], 640, measure);
    expect(ends(layout)).toEqual(["New>Answer", "Other>Answer"]);
    expect(layout.edges.at(-1)).toMatchObject({ kind: "unfollowed" });
  });

  const long = "Express intent to release persons or property";
  const withLongNames = (original: Path): Path => ({
    ...original,
    steps: original.steps.map((step) => ({ ...step, relation: long })),
    also: [original.steps.map(() => "2024-01-01")],
    share_without: 0.5,
    rank_without: 2,
  });

  test.each([
    ["three steps", 1000, [viaTwo, viaPeer, viaTwo]],
    ["three steps, scaled down", 600, [viaTwo, viaPeer, viaTwo]],
    ["two steps", 640, [viaBridge, viaBridge, viaBridge]],
    ["different kinds", 720, [viaPeer, viaBridge, direct, context]],
    ["direct facts", 640, [direct, direct, direct]],
    ["one path on a narrow page", 340, [viaTwo]],
    ["one direct fact on a narrow page", 340, [direct]],
  ])("overlaps no nodes, labels and notes: %s", (_case, width, paths) => {
    const layout = layoutPaths(link, paths.map(withLongNames), width, measure);
    const labels = layout.edges.map((edge) => ({ ...labelBox(edge, layout.nodes, measure), label: edge.label }));
    const boxes = [...layout.nodes, ...layout.notes, ...labels];
    const overlapping = boxes.flatMap((one, index) =>
      boxes.slice(index + 1).filter((other) => overlap(one, other)).map((other) => [one.label, other.label]),
    );
    expect(overlapping).toEqual([]);
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
  expect(wrapText("Ministry of Foreign Affairs", 70, measure, 2)).toEqual(["Ministry", "of Foreign …"]);
});
