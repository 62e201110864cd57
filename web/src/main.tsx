// Entry point of the page.

import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/inter/wght-italic.css";
import "./ui/tokens.css";
import "./ui/base.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { refused } from "./api/client";
import { App } from "./app";
import { WordsProvider } from "./words";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // A refusal is final; other errors may be temporary.
      retry: (count, error) => count < 3 && !refused(error),
    },
  },
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <WordsProvider>
          <App />
        </WordsProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}
