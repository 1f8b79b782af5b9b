/** Vite plugin: writes THIRD-PARTY.txt next to the bundle, with the licence of every bundled package. */

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

interface Manifest {
  name: string;
  version: string;
  license: string;
}

export function notices(root: string): Plugin {
  return {
    name: "notices",
    apply: "build",
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
      const packages = [...new Set(modules.flatMap(packageOf))].sort();
      this.emitFile({ type: "asset", fileName: "THIRD-PARTY.txt", source: noticesText(root, packages, modules) });
    },
  };
}

function packageOf(module: string): string[] {
  const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1];
  return name ? [name] : [];
}

function noticesText(root: string, packages: string[], modules: string[]): string {
  const head = "The bundle of the explorer contains code of these packages, each under its own licence.\n";
  return [head, ...packages.map((name) => section(root, name, modules))].join(`\n${"-".repeat(80)}\n\n`);
}

function section(root: string, name: string, modules: string[]): string {
  const folder = join(root, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const file = readdirSync(folder).find((entry) => /^licen[sc]e(\.|$)/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  const parts = modules.filter((module) => module.includes(`/node_modules/${name}/`)).flatMap(licenceComments);
  const nested = parts.length ? `\nParts with a licence comment of their own:\n\n${[...new Set(parts)].join("\n")}\n` : "";
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n${nested}`;
}

/** Short comments of a module that name a licence. */
function licenceComments(module: string): string[] {
  const path = module.replace(/\?.*$/, "").replace(/^\0/, "");
  if (!existsSync(path)) return [];
  const comments = readFileSync(path, "utf8").match(/\/\*[^]*?\*\//g) ?? [];
  return comments
    .filter((comment) => /licen[sc]e/i.test(comment) && /copyright|MIT/i.test(comment) && comment.length < 600)
    .map((comment) => comment.replace(/^\/\*!?\s*/, "").replace(/\s*\*\/$/, ""))
    .map((comment) => `  ${comment.split(/\s*\n\s*/).filter(Boolean).join("\n  ")}`);
}
