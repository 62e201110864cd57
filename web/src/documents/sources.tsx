// Places that documents are kept in step with: how they stand, what changed, and what waits for a person.

import "./sources.css";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, body } from "../api/client";
import { names, useSources } from "../api/queries";
import type { SourceStatus, SyncPlan, SyncReport } from "../api/schema";
import { Confirm, Dialog, Problem } from "../ui/parts";
import { useNumbers, useWords } from "../words";

export function Sources() {
  const words = useWords();
  const queries = useQueryClient();
  const sources = useSources();
  const ended = Math.max(0, ...(sources.data ?? []).map(({ last }) => last?.ended ?? 0));
  // What a round has brought is in the list below.
  useEffect(() => {
    if (ended > 0) queries.invalidateQueries({ queryKey: names.documents });
  }, [queries, ended]);
  return (
    <section className="card sources" aria-label={words.sources.title}>
      <h2>{words.sources.title}</h2>
      <ul>
        {sources.data?.map((source) => (
          <Source key={source.name} source={source} />
        ))}
      </ul>
    </section>
  );
}

function Source({ source }: { source: SourceStatus }) {
  const words = useWords();
  const numbers = useNumbers();
  const queries = useQueryClient();
  const [deleting, setDeleting] = useState(false);
  const [planned, setPlanned] = useState(false);
  const { name, running, last, history } = source;
  const params = { path: { source: name } };
  const sync = useMutation({
    mutationFn: async (allow_deletions?: number) =>
      body(await api.POST("/sources/{source}/sync", { params, body: { allow_deletions } })),
    onSettled: async () => queries.invalidateQueries({ queryKey: names.sources }),
  });
  const held = last?.outcome.status === "held" ? last.outcome.deletions : undefined;
  const why = last?.outcome.status === "failed" ? last.outcome.why : undefined;
  return (
    <li>
      <div className="row">
        <span className="grow clip">
          <span className="strong">{name}</span>{" "}
          <span className="soft small">
            {source.location} → {source.corpus}
          </span>
        </span>
        <button type="button" className="button" onClick={() => setPlanned(true)}>
          {words.sources.preview}
        </button>
        <button
          type="button"
          className="button"
          disabled={!!running || sync.isPending}
          onClick={() => sync.mutate(undefined)}
        >
          {words.sources.sync}
        </button>
      </div>
      {running ? (
        <>
          <p className="small soft" role="status">
            {running.of > 0 ? words.sources.loading(running.done, running.of) : words.sources.comparing}
          </p>
          <progress value={running.done} max={running.of || 1} aria-label={name} />
        </>
      ) : (
        <p className="small soft">
          {last ? (
            <>
              {numbers.since(last.ended)}: {words.sources.files(last.files, numbers.count(last.files))},{" "}
              {changes(last, words.sources)}
            </>
          ) : (
            words.sources.never
          )}
        </p>
      )}
      {sync.error && <Problem error={sync.error} />}
      {why && (
        <p className="notice bad" role="alert">
          {words.sources.failed}: {why}
        </p>
      )}
      {held !== undefined && !running && (
        <div className="notice fair row" role="alert">
          <p className="grow">{words.sources.held(held, numbers.count(held))}</p>
          <button type="button" className="button danger" onClick={() => setDeleting(true)}>
            {words.sources.allow(held, numbers.count(held))}
          </button>
        </div>
      )}
      {(history.length > 0 || !!last?.problems.length) && (
        <details className="small">
          <summary>{words.sources.history}</summary>
          {!!last?.problems.length && (
            <ul aria-label={words.sources.problems}>
              {last.problems.map(({ path, problem }) => (
                <li key={`${path} ${problem}`}>
                  <code>{path}</code> {problem}
                </li>
              ))}
            </ul>
          )}
          <ol>
            {history.map((report) => (
              <li key={report.ended}>
                <time dateTime={new Date(report.ended).toISOString()}>{numbers.moment(report.ended)}</time>:{" "}
                {report.outcome.status === "failed" ? report.outcome.why : changes(report, words.sources)}
              </li>
            ))}
          </ol>
        </details>
      )}
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        title={words.sources.allowTitle}
        about={words.sources.allowAbout(numbers.count(held ?? 0), name)}
        yes={words.delete}
        onYes={() => sync.mutate(held)}
      />
      {planned && <Preview source={name} onClose={() => setPlanned(false)} />}
    </li>
  );
}

type SourceWords = ReturnType<typeof useWords>["sources"];

/** What a round did, in words. */
function changes(report: SyncReport, words: SourceWords): string {
  const parts = (["loaded", "updated", "moved", "deleted", "failed", "left_out", "waiting"] as const)
    .filter((kind) => report[kind] > 0)
    .map((kind) => words.counts[kind](report[kind]));
  return parts.length > 0 ? parts.join(", ") : words.nothing;
}

const KINDS = ["new", "changed", "gone", "left_out"] as const;
const SHOWN = 100;

/** What a round would do now. */
function Preview({ source, onClose }: { source: string; onClose: () => void }) {
  const words = useWords();
  const numbers = useNumbers();
  const [plan, setPlan] = useState<SyncPlan>();
  const look = useMutation({
    mutationFn: async () => body(await api.GET("/sources/{source}/plan", { params: { path: { source } } })),
    onSuccess: setPlan,
  });
  if (look.isIdle) look.mutate();
  const kinds = plan ? KINDS.filter((kind) => plan[kind].count > 0) : [];
  return (
    <Dialog open onClose={onClose} title={words.sources.previewTitle(source)} about={words.sources.previewAbout}>
      {look.error && <Problem error={look.error} again={() => look.mutate()} />}
      {!plan && !look.error && <p className="soft">{words.sources.comparing}</p>}
      {plan && kinds.length === 0 && <p>{words.sources.nothing}</p>}
      {plan?.problem && <p className="notice fair">{plan.problem}</p>}
      {plan?.would_hold && <p className="notice fair">{words.sources.wouldHold}</p>}
      {plan &&
        kinds.map((kind) => (
          <details key={kind} open={plan[kind].count <= 10}>
            <summary>
              {words.sources.kinds[kind]}: {numbers.count(plan[kind].count)}
            </summary>
            <ul className="small">
              {plan[kind].first.slice(0, SHOWN).map((path) => (
                <li key={path}>
                  <code>{path}</code>
                </li>
              ))}
              {plan[kind].count > SHOWN && <li>{words.sources.more(numbers.count(plan[kind].count - SHOWN))}</li>}
            </ul>
          </details>
        ))}
    </Dialog>
  );
}
