// A scripted model with the API of OpenAI. Its reply depends on the request.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Asked = {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly response_format?: unknown;
  readonly tools?: unknown;
};

type Call = { readonly name: string; readonly arguments: Record<string, unknown> };

type Reply = {
  readonly text?: string;
  readonly calls?: readonly Call[];
  readonly every?: number;
  /** How many tokens it reads first, telling how far it is. */
  readonly reads?: number;
};

const LED =
  'The schedule names them "Light-emitting diode (LED) lamps", and their general rate is 2% [source 1].\n\n' +
  "| Code | Article | General |\n|---|---|---|\n| 8539.52.00 | LED lamps | 2% |\n| 8539.51.00 | LED modules | 7.5% |\n";

const POINTING = 'They are named "Light-emitting diode (LED) lamps" [1]. ';

const LONG = Array.from({ length: 160 }, (_, index) => `word${index}`).join(" ");

const HOSTILE =
  'Hello <script>window.broken = "script"</script> <img src=x onerror="window.broken = 1"> ' +
  "[click](javascript:window.broken=2) ![picture](https://elsewhere.example/pixel.png) " +
  '<iframe src="https://elsewhere.example"></iframe> and 2% [1].';

const COMPLIANCE = {
  answer: "LED lamps are classified in 8539.52.00, and the general rate is 2% [1].",
  hts_codes: ["8539.52.00"],
  agencies: ["CBP", "DOE"],
  required_documents: [
    { agency: "CBP", document_name: "Entry summary", description: "To be filed with the entry." },
    { agency: "DOE", document_name: "Certification report", description: "Of the energy standard." },
  ],
  tariff_info: { duty_rate: "2%", special_programs: ["A", "AU", "KR"], country_specific: "20% in column 2" },
  risk_flags: ["Additional duties may apply to goods from some countries."],
  citations: [{ source: 1, page: null, quote: "Light-emitting diode (LED) lamps" }],
};

const STRUCTURED = {
  answer: "The general rate is 2% [1].",
  citations: [{ source: 1, page: null, quote: "Light-emitting diode (LED) lamps" }],
  confidence: "high",
  follow_up_questions: ["What is the rate for LED modules?", "Which lamps are in 8539.22?"],
};

const INCIDENT = {
  answer: "A pallet of LED lamps fell from a forklift [1].",
  severity: "medium",
  timeline: [
    { time: "08:15", event: "The pallet fell.", cost: 1250.5 },
    { time: "08:40", event: "The lane was closed.", cost: null },
  ],
  actions: [
    { action: "Report to the insurer", owner: "Warehouse", reason: "Within a day." },
    { action: "Inspect the forklift", owner: "Workshop", reason: "" },
  ],
  damage: 1250.5,
  citations: [{ source: 1, page: null, quote: "Light-emitting diode (LED) lamps" }],
};

const PLAN = {
  steps: [
    { number: 1, action: "search_documents", reasoning: "", description: "Find the heading", inputs: [] },
    {
      number: 2,
      action: "lookup_hts_code",
      reasoning: "A rate belongs to a code.",
      description: "Find the code",
      inputs: [],
    },
  ],
};

/** What a search of the web finds. */
const WEB = {
  results: [
    { url: "https://football.example/1998", title: "World cups", content: "France won the world cup in 1998." },
  ],
};

/** Replies to the checks of a research; nothing to other requests. */
function checked(last: string): Reply | undefined {
  const sources = [...last.matchAll(/<source number="(\d+)"/g)].map(([, number]) => Number(number));
  if (last.includes("whether it helps to answer")) {
    const relevant = !last.includes("world cup");
    return { text: JSON.stringify({ passages: sources.map((number) => ({ number, relevant })) }) };
  }
  if (last.includes("whether the sources say it")) {
    const supported = (sentence: string) => !sentence.includes("burned");
    const sentences = [...last.matchAll(/^(\d+)\. (.*)$/gm)].map(([, number, text]) => ({
      number: Number(number),
      supported: supported(String(text)),
    }));
    return { text: JSON.stringify({ sentences }) };
  }
  if (last.includes("whether the answer answers")) return { text: '{"answers": true, "missing": ""}' };
  if (last.includes("other searches that may find")) return { text: '{"searches": ["lamps that are not LED"]}' };
  if (last.includes("football.example")) return { text: `"France won the world cup in 1998" [${sources.at(-1)}].` };
  if (last.includes("in the schedule called")) {
    return { text: 'They are called "Light-emitting diode (LED) lamps" [1].', every: 5 };
  }
  if (last.includes("to be researched")) {
    return { text: "The general rate of LED lamps is 2% [1]. All of them are burned in public [1].", every: 5 };
  }
  return undefined;
}

/** What a concierge is told to make of each message: what is wanted, and what it says of a car or of a payment. */
const WANTED: readonly (readonly [RegExp, string, object])[] = [
  [/hola|^hello/i, "general", {}],
  [/jetta autom/i, "buy", { model: "Jetta", transmission: "automático" }],
  [/menos de 300/i, "buy", { price: "menos de 300 mil" }],
  [/sucursal/i, "faq", {}],
  [/n[uú]m(?:ero|ber) (\d)/i, "financing", { option: "número $1" }],
  [/cuánto sería al mes/i, "financing", {}],
  [/48 meses/i, "financing", { months: "48 meses" }],
];

/** Replies to a concierge; nothing to other requests. */
function concierge(last: string): Reply | undefined {
  const message = last.split(/(?:Último mensaje|Mensaje|Last message|Message): /).at(-1) ?? "";
  const found = WANTED.find(([pattern]) => pattern.test(message));
  const said = Object.entries(found?.[2] ?? {}).map(([field, words]) => [
    field,
    String(words).replace("$1", message.match(found?.[0] ?? /x/)?.[1] ?? ""),
  ]);
  if (last.includes("Clasificas los mensajes") || last.includes("You sort the messages"))
    return { text: JSON.stringify({ intent: found?.[1] ?? "general" }) };
  if (last.includes("busca algo en un catálogo") || last.includes("looks for something in a catalogue")) {
    const criteria = said.map(([field, words]) => ({ field, words }));
    return { text: JSON.stringify({ criteria, start_over: false }) };
  }
  if (last.includes("pregunta por mensualidades") || last.includes("asks for instalments")) {
    const none = { option: "", price: "", down_payment: "", months: "" };
    return { text: JSON.stringify({ ...none, ...Object.fromEntries(said) }) };
  }
  if (last.includes("Debajo de tus palabras") || last.includes("follows below your words"))
    return { text: last.includes("instalment_") ? "Así quedarían tus pagos." : "Mira estas opciones.", every: 5 };
  if (last.includes("Explanada Puebla")) return { text: "Sí, en Explanada Puebla [1].", every: 5 };
  return undefined;
}

function reply(asked: Asked): Reply {
  const all = JSON.stringify(asked.messages);
  const form = JSON.stringify(asked.response_format ?? {});
  const questions = asked.messages.filter((message) => message.role === "user").map((one) => String(one.content));
  const last = questions.at(-1) ?? "";
  if (all.includes("se entienda sin la conversación")) return { text: "¿Tienen sucursal en Puebla?" };
  if (all.includes("can be understood without the conversation")) return { text: "What is the rate for 8539.52.00?" };
  const check = checked(last) ?? concierge(last);
  if (check) return check;
  if (all.includes("No menciones autos")) return { text: "¡Hola! ¿Qué auto buscas?", every: 5 };
  if (form.includes("hts_codes")) return { text: JSON.stringify(COMPLIANCE), every: 5 };
  if (form.includes("timeline")) return { text: JSON.stringify(INCIDENT), every: 5 };
  if (form.includes("follow_up_questions")) return { text: JSON.stringify(STRUCTURED), every: 5 };
  if (form.includes('"steps"')) return { text: JSON.stringify(PLAN) };
  if (asked.tools && asked.messages.at(-1)?.role !== "tool") {
    return { calls: [{ name: "search_documents", arguments: { query: "LED lamps 8539.52", max_results: 3 } }] };
  }
  if (asked.tools) return { text: "ready" };
  if (last.includes("pointing")) return { text: POINTING + LONG, every: 60 };
  if (last.includes("reading")) return { text: "The general rate for LED lamps is 2%.", reads: 3494 };
  if (last.includes("slowly")) return { text: LONG, every: 60 };
  if (last.includes("aside")) return { text: LONG, every: 20 };
  if (last.includes("mistaken")) return { text: "The general rate of duty for 8539.52.00 is 20% [1]." };
  if (last.includes("import records kept"))
    return { text: 'They are kept "for five years from the date of entry" [1].' };
  if (last.includes("storage fee")) return { text: 'It is 6.2 EUR for the month: "Storage of a cold pallet" [1].' };
  if (last.includes("hostile")) return { text: HOSTILE, every: 2 };
  return { text: LED, every: 5 };
}

export type Model = { readonly url: string; readonly asked: Asked[]; readonly close: () => void };

export async function startModel(): Promise<Model> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      response.setHeader("content-type", "application/json");
      if (request.url?.includes("/search?")) return void response.end(JSON.stringify(WEB));
      response.end(JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model" }] }));
      return;
    }
    void read(request).then((body) => {
      asked.push(body);
      return stream(response, reply(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function read(request: IncomingMessage): Promise<Asked> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString());
}

async function stream(response: ServerResponse, { text = "", calls, every = 0, reads = 0 }: Reply) {
  response.setHeader("content-type", "text/event-stream");
  const say = (choice: object, usage?: object) =>
    response.write(
      `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", model: "scripted", choices: [choice], usage })}\n\n`,
    );
  for (let read = 0; read < reads; read += reads / 4) {
    const prompt_progress = { total: reads, cache: 0, processed: Math.round(read), time_ms: read };
    response.write(`data: ${JSON.stringify({ choices: [], prompt_progress })}\n\n`);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  if (calls) {
    const tool_calls = calls.map((call, index) => ({
      index,
      id: `call-${index}-${Math.random()}`,
      type: "function",
      function: { name: call.name, arguments: JSON.stringify(call.arguments) },
    }));
    say({ index: 0, delta: { tool_calls } });
  }
  for (const word of text.match(/\S+\s*|\s+/g) ?? []) {
    if (response.destroyed) return;
    say({ index: 0, delta: { content: word } });
    if (every) await new Promise((resolve) => setTimeout(resolve, every));
  }
  const usage = { prompt_tokens: 1200, completion_tokens: 80, total_tokens: 1280 };
  say({ index: 0, delta: {}, finish_reason: calls ? "tool_calls" : "stop" }, usage);
  response.end("data: [DONE]\n\n");
}
