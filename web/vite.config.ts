// Builds the page into `crates/page/files`, from where it becomes part of the binary.

import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const out = fileURLToPath(new URL("../crates/page/files", import.meta.url));
const pdfjs = fileURLToPath(new URL("node_modules/pdfjs-dist", import.meta.url));

/** A running `ibid serve`, for `npm run dev`. */
const server = process.env.IBID_SERVER ?? "http://127.0.0.1:8123";
const routes = ["assistants", "threads", "runs", "documents", "search", "status", "info", "openapi.json", "docs"];

export default defineConfig({
  plugins: [react(), besides(), finished()],
  resolve: {
    alias: {
      // It writes style elements into the page, which our policy forbids.
      "react-style-singleton": fileURLToPath(new URL("src/ui/style-singleton.ts", import.meta.url)),
    },
  },
  build: {
    outDir: out,
    emptyOutDir: false,
    target: "es2022",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1200,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: Object.fromEntries(
      routes.map((route) => [`/${route}`, { target: server, changeOrigin: true, headers: { origin: server } }]),
    ),
  },
});

/** What PDFs may need besides: fonts that they do not carry, tables of signs, decoders of pictures. */
function besides(): Plugin {
  return {
    name: "besides",
    apply: "build",
    generateBundle() {
      for (const folder of ["cmaps", "standard_fonts", "wasm", "iccs"]) {
        for (const name of readdirSync(`${pdfjs}/${folder}`)) {
          // What runs scripts of documents is left out: none is run here.
          if (!/^LICENSE|\.js$|^quickjs/.test(name)) {
            const source = readFileSync(`${pdfjs}/${folder}/${name}`);
            this.emitFile({ type: "asset", fileName: `assets/pdfjs/${folder}/${name}`, source });
          }
        }
      }
    },
  };
}

/** Begins with an empty folder, and ends with a compressed file beside each that gains by it. */
function finished(): Plugin {
  const each = (folder: string): string[] =>
    readdirSync(folder).flatMap((name) => {
      const path = `${folder}/${name}`;
      return statSync(path).isDirectory() ? each(path) : [path];
    });
  return {
    name: "finished",
    apply: "build",
    buildStart() {
      for (const name of readdirSync(out)) {
        if (name !== ".gitignore") rmSync(`${out}/${name}`, { recursive: true });
      }
    },
    closeBundle() {
      for (const path of each(out)) {
        if (/\.(js|mjs|css|html|svg|wasm|bcmap|icc|pfb)$/.test(path)) {
          const content = readFileSync(path);
          const compressed = gzipSync(content, { level: 9 });
          if (compressed.length < content.length * 0.9) writeFileSync(`${path}.gz`, compressed);
        }
      }
    },
  };
}
