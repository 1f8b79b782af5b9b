/** Vite plugin: writes sources.json next to the bundle, with the sha256 of each source file, to detect a stale bundle. */

import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import type { Plugin } from "vite";

const SINGLE_FILES = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];
const FOLDERS = ["plugins", "public", "src"];

export function sources(root: string): Plugin {
  return {
    name: "sources",
    apply: "build",
    generateBundle() {
      const files = [...SINGLE_FILES, ...FOLDERS.flatMap((folder) => filesIn(root, folder))].sort();
      const checksums = Object.fromEntries(files.map((file) => [file, sha256(join(root, file))]));
      this.emitFile({ type: "asset", fileName: "sources.json", source: `${JSON.stringify(checksums, null, 2)}\n` });
    },
  };
}

function filesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll("\\", "/"));
}

function sha256(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
