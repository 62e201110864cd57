// The frame: navigation, and the current view.

import "./app.css";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useEffect, useState } from "react";
import { reach } from "./api/client";
import { key, requestKey, storeKey, useKeyRequests } from "./api/key";
import { useMe } from "./api/queries";
import { Chat } from "./chat/chat";
import { forgetDrafts } from "./chat/draft";
import { Threads } from "./chat/threads";
import { DocumentView } from "./documents/document";
import { Documents } from "./documents/documents";
import { address, useRoute } from "./route";
import { SetupView } from "./setup/setup";
import { StatusView } from "./status/status";
import { Boundary } from "./ui/boundary";
import { Icon, type IconName } from "./ui/icons";
import { Notices } from "./ui/notices";
import { part } from "./ui/part";
import { Dialog, IconButton, Waiting } from "./ui/parts";
import { useTheme } from "./ui/theme";
import { LANGUAGES, useLanguage, useWords } from "./words";

const InsightsView = part(() => import("./insights/insights").then(({ InsightsView }) => InsightsView));

/** What the server is; one on its first start has nothing but the page that sets it up. */
function useInfo() {
  return useQuery({
    queryKey: ["info"],
    queryFn: async () => (await (await reach("/info")).json()) as { version: string; setup?: boolean },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function App() {
  return useInfo().data?.setup ? <SetupView /> : <Frame />;
}

function Frame() {
  const words = useWords();
  const route = useRoute();
  const [view = "chat", id] = route.path;
  const [open, setOpen] = useState(false);
  const admin = useMe().data?.role === "admin";
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes on every navigation
  useEffect(() => setOpen(false), [route]);
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => document.getElementById("main")?.focus()}>
        {words.skip}
      </button>
      <header className="top">
        <IconButton icon="menu" label={words.menu} aria-expanded={open} onClick={() => setOpen(!open)} />
        <Brand />
      </header>
      {open && <div className="veil side-veil" onClick={() => setOpen(false)} aria-hidden="true" />}
      <aside
        className={`side ${open ? "open" : ""}`}
        onKeyDown={(event) => {
          if (event.key === "Escape") setOpen(false);
        }}
      >
        <div className="side-top">
          <Brand />
        </div>
        <nav aria-label={words.navigation}>
          <NavLink to="chat" icon="chat" label={words.chat.title} current={view} />
          <NavLink to="documents" icon="documents" label={words.documents.title} current={view} />
          {admin && <NavLink to="insights" icon="insights" label={words.insights.title} current={view} />}
          <NavLink to="status" icon="status" label={words.status.title} current={view} />
        </nav>
        <Threads current={view === "chat" ? id : undefined} />
        <Settings />
      </aside>
      <main id="main" tabIndex={-1}>
        <Boundary key={`${view} ${id}`}>
          {view === "chat" && <Chat thread={id} query={route.query} />}
          {view === "documents" && !id && <Documents query={route.query} />}
          {view === "documents" && id && <DocumentView key={id} id={id} query={route.query} />}
          {view === "insights" && (
            <Suspense fallback={<Waiting label={words.insights.loading} />}>
              <InsightsView />
            </Suspense>
          )}
          {view === "status" && <StatusView />}
          {!["chat", "documents", "insights", "status"].includes(view) && (
            <p className="not-found">{words.notFound}</p>
          )}
        </Boundary>
      </main>
      <KeyDialog />
      <Notices />
    </div>
  );
}

function Brand() {
  return (
    <a className="brand" href={address(["chat"])}>
      ibid<span aria-hidden="true">.</span>
    </a>
  );
}

type NavLinkProps = { to: string; icon: IconName; label: string; current: string };

function NavLink({ to, icon, label, current }: NavLinkProps) {
  return (
    <a className="nav-link" href={address([to])} aria-current={to === current ? "page" : undefined}>
      <Icon name={icon} />
      {label}
    </a>
  );
}

function Settings() {
  const words = useWords();
  const [language, setLanguage] = useLanguage();
  const [theme, setTheme] = useTheme();
  const info = useInfo();
  return (
    <footer className="settings">
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
      <select
        className="field"
        aria-label={words.theme.title}
        value={theme}
        onChange={(event) => setTheme(event.target.value)}
      >
        <option value="auto">{words.theme.auto}</option>
        <option value="light">{words.theme.light}</option>
        <option value="dark">{words.theme.dark}</option>
      </select>
      {key() && <IconButton icon="key" label={words.key.title} onClick={requestKey} />}
      <span className="soft version">{info.data?.version}</span>
    </footer>
  );
}

function KeyDialog() {
  const words = useWords();
  const requests = useKeyRequests();
  const [text, setText] = useState("");
  /** Number of requests when the dialog was last closed. */
  const [dismissed, setDismissed] = useState(0);
  const use = (key: string | null) => {
    setDismissed(requests);
    storeKey(key);
    // Without a key, the next user may be another person; with a new key, it is the same one.
    if (!key) forgetDrafts();
    location.reload();
  };
  return (
    <Dialog
      open={requests > dismissed}
      onClose={() => setDismissed(requests)}
      title={words.key.title}
      about={words.key.about}
    >
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          use(text.trim());
        }}
      >
        <input
          className="field grow"
          type="password"
          autoComplete="off"
          aria-label={words.key.title}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="button main" disabled={!text.trim()}>
          {words.key.use}
        </button>
      </form>
      {key() && (
        <button type="button" className="button" onClick={() => use(null)}>
          {words.key.forget}
        </button>
      )}
    </Dialog>
  );
}
