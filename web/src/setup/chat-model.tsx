// Who answers: a server on this machine, an account elsewhere, or another server. It is tried before it is used.

import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Problem, Waiting } from "../ui/parts";
import { useNumbers, useWords, type Words } from "../words";
import {
  type ModelChoice,
  type ModelTrial,
  REPORT,
  type SetupProvider,
  type SetupReport,
  saveModel,
  tryModel,
} from "./api";

/** The choice of a server that is not in the list. */
const OTHER = "\0";
/** What that one is called in the settings. */
const OTHER_NAME = "mine";
/** Fewer tokens are too few for a question with the pages that answer it. */
const FEWEST_TOKENS = 8192;

/** What the providers call themselves. */
const PROPER_NAMES: Record<string, string> = {
  openai: "OpenAI",
  groq: "Groq",
  mistral: "Mistral",
  deepseek: "DeepSeek",
  openrouter: "OpenRouter",
  ollama: "Ollama",
  llamacpp: "llama.cpp",
  vllm: "vLLM",
  lmstudio: "LM Studio",
};
const properName = (name: string) => PROPER_NAMES[name] ?? name;

export function ChatModel({ found }: { found: SetupReport }) {
  const words = useWords();
  if (found.chat) {
    return <p>{words.setup.chat.chosen(found.chat.model, properName(found.chat.provider), found.file)}</p>;
  }
  return <ChooseModel providers={found.providers} file={found.file} />;
}

/** Those that have models come first. */
function inOrder(providers: readonly SetupProvider[]): readonly SetupProvider[] {
  return [...providers].sort((one, other) => Number(other.models.length > 0) - Number(one.models.length > 0));
}

function ChooseModel({ providers, file }: { providers: readonly SetupProvider[]; file: string }) {
  const words = useWords();
  const queries = useQueryClient();
  const listed = useId();
  const ordered = inOrder(providers);
  const [name, setName] = useState(ordered[0]?.name ?? OTHER);
  const provider = providers.find((provider) => provider.name === name);
  const [model, setModel] = useState(provider?.models[0] ?? "");
  const [baseUrl, setBaseUrl] = useState("http://127.0.0.1:8080/v1");
  const [key, setKey] = useState("");
  const [state, setState] = useState<"idle" | "trying" | "saving">("idle");
  const [trial, setTrial] = useState<ModelTrial>();
  const [problem, setProblem] = useState<unknown>();
  const wantsKey = !provider || (provider.key_env !== null && !provider.has_key);
  const choice: ModelChoice = {
    provider: provider?.name ?? OTHER_NAME,
    model: model.trim(),
    base_url: provider ? undefined : baseUrl.trim(),
    key: wantsKey && key.trim() ? key.trim() : undefined,
  };
  /** Another choice has not been tried. */
  const change = (apply: () => void) => {
    apply();
    setTrial(undefined);
    setProblem(undefined);
  };
  const run = async (doing: "trying" | "saving", work: () => Promise<unknown>) => {
    setState(doing);
    setProblem(undefined);
    try {
      await work();
    } catch (error) {
      setProblem(error);
    }
    setState("idle");
  };
  const attempt = () => run("trying", async () => setTrial(await tryModel(choice)));
  const save = () => run("saving", async () => queries.setQueryData(REPORT, await saveModel(choice)));
  const isComplete = choice.model !== "" && (!wantsKey || !provider || choice.key !== undefined);
  return (
    <form
      className="setup-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (trial) void save();
        else void attempt();
      }}
    >
      <label className="labelled">
        <span>{words.setup.chat.provider}</span>
        <select
          className="field"
          value={name}
          onChange={({ target: { value } }) =>
            change(() => {
              setName(value);
              setModel(providers.find((provider) => provider.name === value)?.models[0] ?? "");
            })
          }
        >
          {ordered.map((provider) => (
            <option key={provider.name} value={provider.name}>
              {providerLabel(words, provider)}
            </option>
          ))}
          <option value={OTHER}>{words.setup.chat.other}</option>
        </select>
      </label>
      {!provider && (
        <label className="labelled">
          <span>{words.setup.chat.address}</span>
          <input
            className="field"
            type="url"
            value={baseUrl}
            onChange={({ target: { value } }) => change(() => setBaseUrl(value))}
          />
        </label>
      )}
      <label className="labelled">
        <span>{words.setup.chat.model}</span>
        <input
          className="field"
          list={listed}
          value={model}
          autoComplete="off"
          onChange={({ target: { value } }) => change(() => setModel(value))}
        />
        <datalist id={listed}>
          {provider?.models.map((model) => (
            <option key={model} value={model} />
          ))}
        </datalist>
      </label>
      {wantsKey && (
        <label className="labelled">
          <span>{words.setup.chat.key}</span>
          <input
            className="field"
            type="password"
            autoComplete="off"
            value={key}
            onChange={({ target: { value } }) => change(() => setKey(value))}
          />
          <span className="soft">{words.setup.chat.keyAbout(provider?.key_env ?? undefined)}</span>
        </label>
      )}
      <div className="row">
        <button type="submit" className="button main" disabled={!isComplete || state !== "idle"}>
          {trial ? words.setup.chat.use : words.setup.chat.attempt}
        </button>
        <button
          type="button"
          className="button"
          disabled={state !== "idle"}
          onClick={() => queries.invalidateQueries({ queryKey: REPORT })}
        >
          {words.setup.chat.lookAgain}
        </button>
      </div>
      {state === "trying" && <Waiting label={words.setup.chat.trying} />}
      {trial && <Trial trial={trial} file={file} />}
      {problem !== undefined && <Problem error={problem} />}
    </form>
  );
}

function Trial({ trial, file }: { trial: ModelTrial; file: string }) {
  const words = useWords();
  const numbers = useNumbers();
  return (
    <div className="setup-trial" role="status">
      <p className="small">{words.setup.chat.answered(numbers.time(Math.round(trial.seconds * 1000)))}</p>
      <blockquote>{trial.text}</blockquote>
      {trial.context !== null && trial.context < FEWEST_TOKENS && (
        <p className="small found fair">{words.setup.chat.fewTokens(numbers.count(trial.context))}</p>
      )}
      <p className="small soft">{words.setup.chat.written(file)}</p>
    </div>
  );
}

function providerLabel(words: Words, { name, models, is_local, key_env, has_key }: SetupProvider): string {
  const proper = properName(name);
  if (models.length > 0) return words.setup.chat.withModels(proper, models.length);
  if (is_local) return words.setup.chat.notRunning(proper);
  if (key_env !== null && !has_key) return words.setup.chat.wantsKey(proper);
  return words.setup.chat.notReached(proper);
}
