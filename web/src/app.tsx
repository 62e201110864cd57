// The frame: where one can go, and what is open.

import "./app.css";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { reach } from "./api/client";
import { keep, key, keyIsWanted, useKeyIsWanted } from "./api/key";
import { Chat } from "./chat/chat";
import { forgetDrafts } from "./chat/draft";
import { Threads } from "./chat/threads";
import { DocumentView } from "./documents/document";
import { Documents } from "./documents/documents";
import { address, useRoute } from "./route";
import { StateView } from "./state/state";
import { Boundary } from "./ui/boundary";
import { Icon, type IconName } from "./ui/icons";
import { Notices } from "./ui/notices";
import { Dialog, IconButton } from "./ui/parts";
import { useTheme } from "./ui/theme";
import { LANGUAGES, useLanguage, useWords } from "./words";

export function App() {
  const words = useWords();
  const route = useRoute();
  const [room = "chat", id] = route.path;
  const [open, setOpen] = useState(false);
  // Whoever has chosen something wants to see it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it closes whenever the place changes
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
        <nav aria-label={words.places}>
          <Place to="chat" icon="chat" label={words.chat.title} now={room} />
          <Place to="documents" icon="documents" label={words.documents.title} now={room} />
          <Place to="state" icon="state" label={words.state.title} now={room} />
        </nav>
        <Threads current={room === "chat" ? id : undefined} />
        <Choices />
      </aside>
      <main id="main" tabIndex={-1}>
        <Boundary key={`${room} ${id}`}>
          {room === "chat" && <Chat thread={id} query={route.query} />}
          {room === "documents" && !id && <Documents query={route.query} />}
          {room === "documents" && id && <DocumentView key={id} id={id} query={route.query} />}
          {room === "state" && <StateView />}
          {!["chat", "documents", "state"].includes(room) && <p className="nowhere">{words.nowhere}</p>}
        </Boundary>
      </main>
      <AskForKey />
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

function Place({ to, icon, label, now }: { to: string; icon: IconName; label: string; now: string }) {
  return (
    <a className="place" href={address([to])} aria-current={to === now ? "page" : undefined}>
      <Icon name={icon} />
      {label}
    </a>
  );
}

function Choices() {
  const words = useWords();
  const [language, setLanguage] = useLanguage();
  const [theme, setTheme] = useTheme();
  const version = useQuery({
    queryKey: ["info"],
    queryFn: async () => (await (await reach("/info")).json()) as { version: string },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <footer className="choices">
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
      {key() && <IconButton icon="key" label={words.key.title} onClick={keyIsWanted} />}
      <span className="soft version">{version.data?.version}</span>
    </footer>
  );
}

function AskForKey() {
  const words = useWords();
  const wanted = useKeyIsWanted();
  const [text, setText] = useState("");
  /** Up to which wish it was put off. */
  const [later, setLater] = useState(0);
  const use = (key: string | null) => {
    setLater(wanted);
    keep(key);
    // Another person may be next; who was only asked for a newer key is the same.
    if (!key) forgetDrafts();
    location.reload();
  };
  return (
    <Dialog open={wanted > later} onClose={() => setLater(wanted)} title={words.key.title} about={words.key.about}>
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
