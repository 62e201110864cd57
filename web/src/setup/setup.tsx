// The first start: who answers, what finds, and then the server opens.

import "./setup.css";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Icon } from "../ui/icons";
import { Problem, Waiting } from "../ui/parts";
import { useTitle } from "../ui/title";
import { LANGUAGES, useLanguage, useNumbers, useWords } from "../words";
import { isOpen, open, type PullStatus, pull, pullStatus, REPORT, report, type SetupReport } from "./api";
import { ChatModel } from "./chat-model";

export function SetupView() {
  const words = useWords();
  const [language, setLanguage] = useLanguage();
  const found = useQuery({ queryKey: REPORT, queryFn: report, staleTime: 5_000 });
  useTitle(words.setup.title);
  return (
    <main className="view" id="main" tabIndex={-1}>
      <div className="view-inside setup">
        <header className="row">
          <h1 className="grow">{words.setup.title}</h1>
          <select
            className="field"
            aria-label={words.language}
            value={language}
            onChange={(event) => setLanguage(event.target.value)}
          >
            {Object.entries(LANGUAGES).map(([code, name]) => (
              <option key={code} value={code}>
                {name}
              </option>
            ))}
          </select>
        </header>
        <p className="soft">{words.setup.about}</p>
        {found.error && <Problem error={found.error} again={() => found.refetch()} />}
        {found.isPending && <Waiting label={words.setup.looking} />}
        {found.data && <Steps found={found.data} />}
      </div>
    </main>
  );
}

function Steps({ found }: { found: SetupReport }) {
  const words = useWords();
  return (
    <ol className="steps-of-setup">
      <Step number={1} title={words.setup.chat.title} about={words.setup.chat.about} done={found.chat !== null}>
        <ChatModel found={found} />
      </Step>
      <Step
        number={2}
        title={words.setup.local.title}
        about={words.setup.local.about}
        done={found.embedding && found.pdf}
      >
        <LocalModels found={found} />
      </Step>
      <Step number={3} title={words.setup.open.title} about={words.setup.open.about} done={false}>
        <Open found={found} />
      </Step>
    </ol>
  );
}

type StepProps = { number: number; title: string; about: string; done: boolean; children: ReactNode };

function Step({ number, title, about, done, children }: StepProps) {
  const words = useWords();
  return (
    <li className="card setup-step">
      <h2 className="row">
        <span className={`chip ${done ? "good" : ""}`}>{done ? <Icon name="done" size={14} /> : number}</span>
        {title}
        {done && <span className="hidden">{words.done}</span>}
      </h2>
      <p className="soft small">{about}</p>
      {children}
    </li>
  );
}

/** The embedding model and the reader of PDFs: fetched here, or there already. */
function LocalModels({ found }: { found: SetupReport }) {
  const words = useWords();
  const queries = useQueryClient();
  const [problem, setProblem] = useState<unknown>();
  const status = useQuery({
    queryKey: ["setup-pull"],
    queryFn: async () => {
      const now = await pullStatus();
      if (now.state !== "running") await queries.invalidateQueries({ queryKey: REPORT });
      return now;
    },
    initialData: found.pull,
    // It is asked again while something is downloaded, and not before.
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: (query) => (query.state.data?.state === "running" ? 400 : false),
  });
  const fetchAll = () => {
    setProblem(undefined);
    pull().then((now) => queries.setQueryData(["setup-pull"], now), setProblem);
  };
  const { megabytes, name } = found.recommended;
  const isThere = found.embedding && found.pdf;
  const now = status.data;
  return (
    <>
      <ul className="setup-parts small">
        <Part there={found.embedding} label={words.setup.local.embedding(name)} />
        <Part there={found.pdf} label={words.setup.local.pdf} />
      </ul>
      {!isThere && now.state !== "running" && (
        <div>
          <button type="button" className="button main" onClick={fetchAll}>
            {words.setup.local.fetch(megabytes)}
          </button>
        </div>
      )}
      {now.state === "running" && <Progress status={now} />}
      {now.state === "failed" && !isThere && (
        <div className="notice bad" role="alert">
          <Icon name="warning" />
          <div className="grow">
            <p>{now.problem}</p>
            <p>{words.setup.local.otherwise}</p>
          </div>
        </div>
      )}
      {problem !== undefined && <Problem error={problem} />}
    </>
  );
}

function Part({ there, label }: { there: boolean; label: string }) {
  const words = useWords();
  return (
    <li>
      <span className={`chip ${there ? "good" : ""}`}>{there ? words.setup.there : words.setup.missing}</span> {label}
    </li>
  );
}

function Progress({ status }: { status: Extract<PullStatus, { state: "running" }> }) {
  const words = useWords();
  const numbers = useNumbers();
  const percent = status.total ? Math.round((status.bytes / status.total) * 100) : undefined;
  return (
    <div className="setup-progress">
      <div
        className="bar"
        role="progressbar"
        aria-label={words.setup.local.fetching(status.file)}
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <div style={{ width: `${percent ?? 0}%` }} />
      </div>
      <p className="small soft">
        {words.setup.local.fetching(status.file)}{" "}
        {status.total !== null && words.setup.local.come(numbers.bytes(status.bytes), numbers.bytes(status.total))}
      </p>
    </div>
  );
}

/** Opens the server, and goes on to its documents once it answers. */
function Open({ found }: { found: SetupReport }) {
  const words = useWords();
  const [opening, setOpening] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const start = async () => {
    setProblem(undefined);
    setOpening(true);
    try {
      await open();
      while (!(await isOpen())) await new Promise((resolve) => setTimeout(resolve, 200));
      location.hash = "#/documents";
      location.reload();
    } catch (error) {
      setProblem(error);
      setOpening(false);
    }
  };
  return (
    <>
      {!found.chat && <p className="small">{words.setup.open.withoutChat(found.file)}</p>}
      {!found.embedding && <p className="small">{words.setup.open.withoutEmbedding}</p>}
      <div>
        <button type="button" className="button main" disabled={!found.embedding || opening} onClick={start}>
          {words.setup.open.button}
        </button>
      </div>
      {opening && <Waiting label={words.setup.open.opening} />}
      {problem !== undefined && <Problem error={problem} />}
    </>
  );
}
