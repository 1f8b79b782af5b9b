import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { notices } from "./plugins/notices.ts";
import { sources } from "./plugins/sources.ts";

const root = fileURLToPath(new URL(".", import.meta.url));

export default defineConfig({
  root,
  base: "./",
  plugins: [notices(root), sources(root)],
  build: {
    outDir: "../src/fitcarl/serve/web",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 500,
  },
  server: { proxy: { "/v1": process.env["FITCARL_SERVICE"] ?? "http://127.0.0.1:8000" } },
  test: { include: ["test/**/*.test.ts"], maxWorkers: 1 },
});
