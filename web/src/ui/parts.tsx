// The small parts that all views share.

import * as RadixDialog from "@radix-ui/react-dialog";
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Failure, Unreached } from "../api/client";
import { useWords, type Words } from "../words";
import { Icon, type IconName } from "./icons";
import { PartMissing } from "./part";

type IconButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { icon: IconName; label: string };

/** A button with a picture, and a name for those who do not see it. */
export function IconButton({ icon, label, className = "", ...rest }: IconButtonProps) {
  return (
    <button type="button" className={`button bare icon ${className}`} aria-label={label} title={label} {...rest}>
      <Icon name={icon} />
    </button>
  );
}

type DialogProps = { open: boolean; onClose: () => void; title: string; about?: string; children: ReactNode };

export function Dialog({ open, onClose, title, about, children }: DialogProps) {
  return (
    <RadixDialog.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className="veil" />
        <RadixDialog.Content className="dialog" {...(about ? {} : { "aria-describedby": undefined })}>
          <RadixDialog.Title asChild>
            <h2>{title}</h2>
          </RadixDialog.Title>
          {about && <RadixDialog.Description className="soft small">{about}</RadixDialog.Description>}
          {children}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

type ConfirmProps = {
  open: boolean;
  onClose: () => void;
  title: string;
  about: string;
  yes: string;
  onYes: () => void;
};

/** Asks before something is done that cannot be undone. */
export function Confirm({ open, onClose, title, about, yes, onYes }: ConfirmProps) {
  const words = useWords();
  return (
    <Dialog open={open} onClose={onClose} title={title} about={about}>
      <div className="row" style={{ justifyContent: "flex-end" }}>
        <button type="button" className="button" onClick={onClose}>
          {words.cancel}
        </button>
        <button
          type="button"
          className="button danger"
          onClick={() => {
            onYes();
            onClose();
          }}
        >
          {yes}
        </button>
      </div>
    </Dialog>
  );
}

/** What went wrong, in words. */
export function wrong(error: unknown, words: Words): string {
  if (error instanceof Unreached) return words.notReached;
  if (error instanceof PartMissing) return words.partMissing;
  return error instanceof Error ? error.message : String(error);
}

/** What went wrong, with what helps to find it in the log. */
export function Problem({ error, again }: { error: unknown; again?: () => void }) {
  const words = useWords();
  return (
    <div className="notice bad" role="alert">
      <Icon name="warning" />
      <div className="grow">
        <p>{wrong(error, words)}</p>
        {error instanceof Failure && error.trace && (
          <p>
            {words.trace} <code>{error.trace}</code>
          </p>
        )}
      </div>
      {again && (
        <button type="button" className="button" onClick={again}>
          {words.tryAgain}
        </button>
      )}
    </div>
  );
}

/** A table that may be wider than its place: it scrolls by itself, also with the keyboard. */
export function TableFrame({
  label,
  className = "",
  children,
}: {
  label: string;
  className?: string;
  children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard
    <section className={`table-frame ${className}`} aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}

export function Waiting({ label }: { label: string }) {
  return (
    <div className="row soft small" role="status">
      <span className="spin" aria-hidden="true" />
      {label}
    </div>
  );
}
