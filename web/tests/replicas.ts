// Several servers on one database, behind a proxy that sends each request to the next of them. This is how all tests run where
// IBID_POSTGRES is the address of a Postgres server: `just test-replicas`.

import { execFileSync } from "node:child_process";
import { createServer, request, type Server } from "node:http";

const POSTGRES = process.env.IBID_POSTGRES;

/** How many servers there are. */
export const REPLICAS = POSTGRES ? 2 : 1;

/** Makes a database that no other test uses; none if there is no Postgres. */
export function newDatabase(): string | undefined {
  if (!POSTGRES) return undefined;
  const name = `web_${process.pid}_${Date.now()}`;
  execFileSync("psql", ["--quiet", `${POSTGRES}/postgres`, "--command", `CREATE DATABASE ${name}`], {
    stdio: "pipe",
  });
  return `${POSTGRES}/${name}`;
}

/** Listens at a port and sends each request to the next of other ports. */
export function startProxy(port: number, servers: readonly number[]): Promise<Server> {
  let next = 0;
  const proxy = createServer((asked, answer) => {
    const target = servers[next++ % servers.length];
    const { method, url: path, headers } = asked;
    const sent = request({ host: "127.0.0.1", port: target, method, path, headers, agent: false }, (told) => {
      answer.writeHead(told.statusCode ?? 502, told.headers);
      answer.flushHeaders();
      told.pipe(answer);
      told.on("error", () => answer.destroy());
    });
    // Whoever asks a server that is gone finds the line cut, as without a proxy.
    sent.on("error", () => answer.destroy());
    answer.on("close", () => sent.destroy());
    asked.pipe(sent);
  });
  return new Promise((resolve) => proxy.listen(port, "127.0.0.1", () => resolve(proxy)));
}
