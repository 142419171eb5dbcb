import { defineConfig } from "vite";

/** The page, as files without any request to elsewhere, beside the compiled server that serves them. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  build: {
    outDir: "../dist/ui/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  logLevel: "warn",
});
