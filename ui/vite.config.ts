import { defineConfig } from "vite";

// Built into the Python package. Relative addresses, so that the UI also works below a path of a proxy.
export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../src/holdfast/api/web/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    // `npm run dev` beside `holdfast serve`; the origin is the dev server's own, so it is rewritten for the check of it.
    proxy: Object.fromEntries(
      ["/v1", "/ui/session"].map((path) => [path, { target: "http://127.0.0.1:8420", changeOrigin: false }]),
    ),
  },
});
