// A server in a temporary folder, with documents and a model.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Model, startModel } from "./model";
import { newDatabase, REPLICAS, startProxy } from "./replicas";

export const root = resolve(import.meta.dirname, "../..");

/** The program, as it was built for tests. */
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const program = process.env.IBID ?? join(target, "debug/ibid");
export const models = process.env.IBID_TEST_MODELS ?? join(homedir(), ".cache/ibid/test-models");

/** Two pages of chapter 85 of the tariff schedule, and all of it if it is at hand. */
export const SAMPLE = join(root, "crates/reading/tests/samples/hts-chapter-85-pages-70-71.pdf");
export const CHAPTER = join(root, "../shared/data/trade_compliance/hts/pdf/chapter/Chapter_85.pdf");
export const hasChapter = existsSync(CHAPTER);

type Options = {
  /** Where a model is, in place of the scripted one; null if there is none. */
  readonly model?: string | null;
  /** More lines for the configuration. */
  readonly settings?: readonly string[];
};

export class Stage {
  private children: readonly ChildProcess[] = [];
  private proxy?: Server;
  private readonly database = newDatabase();
  private constructor(
    readonly folder: string,
    readonly model: Model,
    readonly port: number,
    /** Where the servers listen; without a proxy, the one server at the port itself. */
    private readonly ports: readonly number[],
    /** More of the environment. */
    private readonly more: NodeJS.ProcessEnv = {},
  ) {}

  /** A server in an empty folder. Ollama is where the scripted model is, and nothing can be downloaded. */
  static async first(): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), "ibid-web-"));
    const model = await startModel();
    const [port, closed] = [await freePort(), await freePort()];
    const stage = new Stage(folder, model, port, [port], {
      IBID_PROVIDERS__OLLAMA__BASE_URL: model.url,
      IBID_PULL__HUB: `http://127.0.0.1:${closed}`,
      IBID_INGEST__PDFIUM: join(models, "pdfium/libpdfium.so"),
      IBID_INGEST__RECOGNITION: '""',
      ORT_DYLIB_PATH: join(models, "onnxruntime/libonnxruntime.so"),
    });
    await stage.start();
    return stage;
  }

  static async begin(documents: readonly string[], { model: url, settings = [] }: Options = {}): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), "ibid-web-"));
    const model = await startModel();
    const port = await freePort();
    const ports = REPLICAS > 1 ? await Promise.all(Array.from({ length: REPLICAS }, freePort)) : [port];
    const stage = new Stage(folder, model, port, ports);
    if (REPLICAS > 1) stage.proxy = await startProxy(port, ports);
    const config = [
      "[embedding]",
      `path = ${JSON.stringify(join(models, "use-multilingual"))}`,
      "[onnx]",
      `library = ${JSON.stringify(join(models, "onnxruntime/libonnxruntime.so"))}`,
      "[ingest]",
      `pdfium = ${JSON.stringify(join(models, "pdfium/libpdfium.so"))}`,
      'recognition = ""',
      // The scripted model also plays a search of the web.
      "[tools.web]",
      'provider = "searxng"',
      `url = ${JSON.stringify(model.url)}`,
      'rule = "ask"',
      ...(url === null ? [] : answering(url ?? model.url)),
      ...settings,
    ];
    writeFileSync(join(folder, "ibid.toml"), `${config.join("\n")}\n`);
    cpSync(join(root, "examples/assistants"), join(folder, "assistants"), { recursive: true });
    for (const document of documents) {
      const found = ["ingest", document, "--assistant", "trade-compliance"];
      stage.run(...found);
    }
    await stage.start();
    return stage;
  }

  /** Runs a command of the program in the folder of the server. */
  run(...command: readonly string[]) {
    execFileSync(program, command, { cwd: this.folder, env: this.env(0), stdio: ["ignore", "ignore", "pipe"] });
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The environment of a server: without variables of ibid but for what several servers share, and what each has of its own. */
  private env(index: number): NodeJS.ProcessEnv {
    if (!this.database) return { ...bare(), ...this.more };
    const data = index === 0 ? "ibid-data" : `ibid-data-${index}`;
    const shared = { IBID_ENGINE__URL: this.database, IBID_STORE__LOCATION: join(this.folder, "ibid-data/store") };
    return { ...bare(), ...this.more, ...shared, IBID_DATA: data };
  }

  async start() {
    this.children = await Promise.all(this.ports.map((port, index) => this.serve(port, index)));
  }

  private async serve(port: number, index: number): Promise<ChildProcess> {
    const child = spawn(program, ["serve", "--address", `127.0.0.1:${port}`], {
      cwd: this.folder,
      env: this.env(index),
      stdio: ["ignore", "ignore", "pipe"],
    });
    let output = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr?.on("data", (piece: Buffer) => {
        output += piece.toString();
        if (/listens on|set up first/.test(output)) resolve();
      });
      child.once("exit", () => reject(new Error(`the server ended: ${output}`)));
    });
    return child;
  }

  /** Ends the servers as a crash would. */
  async kill() {
    const ended = this.children.map((child) => new Promise((resolve) => child.once("exit", resolve)));
    for (const child of this.children) child.kill("SIGKILL");
    this.children = [];
    await Promise.all(ended);
  }

  async end() {
    await this.kill();
    this.proxy?.close();
    this.model.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async post(path: string, body: unknown) {
    const headers = { "content-type": "application/json" };
    const response = await fetch(this.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return response.json();
  }
}

/** Who answers. */
function answering(url: string): readonly string[] {
  return [
    "[providers.test]",
    `base_url = ${JSON.stringify(url)}`,
    "[models.answer]",
    'provider = "test"',
    'model = "scripted"',
    "input_price = 0.5",
    "output_price = 1.5",
  ];
}

/** The environment without variables of ibid. */
function bare(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("IBID")));
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
