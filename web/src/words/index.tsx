// The texts of the page, in the language of the user.

import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { en, type Words } from "./en";

export type { Words };

// A language is a file of its own, named by its ISO 639-1 code, which exports its texts under that code.
const FILES = import.meta.glob<Record<string, Words>>("./??.ts", { eager: true });

const ALL: Record<string, Words> = Object.fromEntries(
  Object.entries(FILES).map(([path, file]) => {
    const code = path.slice(2, 4);
    return [code, file[code] ?? en];
  }),
);

export const LANGUAGES: Record<string, string> = Object.fromEntries(
  Object.entries(ALL).map(([code, words]) => [code, words.languageName]),
);

const STORAGE_KEY = "ibid.language";

type LanguageState = {
  readonly language: string;
  readonly words: Words;
  readonly choose: (language: string) => void;
};

const Context = createContext<LanguageState>({ language: "en", words: en, choose: () => {} });

function preferred(): string {
  const wanted = [localStorage.getItem(STORAGE_KEY) ?? "", ...navigator.languages].map((tag) => tag.slice(0, 2));
  return wanted.find((language) => language in ALL) ?? "en";
}

export function WordsProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(preferred);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const chosen = useMemo(
    () => ({
      language,
      words: ALL[language] ?? en,
      choose: (language: string) => {
        localStorage.setItem(STORAGE_KEY, language);
        setLanguage(language);
      },
    }),
    [language],
  );
  return <Context value={chosen}>{children}</Context>;
}

export function useWords(): Words {
  return useContext(Context).words;
}

export function useLanguage(): [string, (language: string) => void] {
  const { language, choose } = useContext(Context);
  return [language, choose];
}

/** Formats numbers and times for the language. */
export function useNumbers() {
  const { language } = useContext(Context);
  return useMemo(() => {
    const number = new Intl.NumberFormat(language);
    const dollars = { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" } as const;
    const cost = new Intl.NumberFormat(language, { ...dollars, maximumSignificantDigits: 2 });
    const price = new Intl.NumberFormat(language, { ...dollars, maximumFractionDigits: 4 });
    const short = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
    const ago = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
    const day = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
    const moment = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
    return {
      count: (value: number) => number.format(value),
      bytes: (value: number) => {
        const units = ["B", "kB", "MB", "GB", "TB"];
        const unit = value > 0 ? Math.min(Math.floor(Math.log10(value) / 3), units.length - 1) : 0;
        return `${short.format(value / 1000 ** unit)} ${units[unit]}`;
      },
      time: (milliseconds: number) =>
        milliseconds < 1000 ? `${number.format(milliseconds)} ms` : `${short.format(milliseconds / 1000)} s`,
      /** A cost, rounded. */
      cost: (value: number) => cost.format(value),
      /** A price, exact. */
      price: (value: number) => price.format(value),
      moment: (time: string | number) => moment.format(new Date(time)),
      since: (time: string | number) => {
        const seconds = (new Date(time).getTime() - Date.now()) / 1000;
        const [size, unit] = (
          [
            [60, "second"],
            [3600, "minute"],
            [86_400, "hour"],
            [604_800, "day"],
          ] as const
        ).find(([limit]) => -seconds < limit) ?? [0, undefined];
        if (!unit) return day.format(new Date(time));
        const divisor = { second: 1, minute: 60, hour: 3600, day: 86_400 }[unit];
        return size === 60 ? ago.format(0, "second") : ago.format(Math.round(seconds / divisor), unit);
      },
    };
  }, [language]);
}
