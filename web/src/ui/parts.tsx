// Shared components.

import * as RadixDialog from "@radix-ui/react-dialog";
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Failure, Unreached } from "../api/client";
import { useWords, type Words } from "../words";
import { Icon, type IconName } from "./icons";
import { PartMissing } from "./part";

type IconButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { icon: IconName; label: string };

/** A button with an icon and an accessible name. */
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

/** Asks for confirmation before an action that cannot be undone. */
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

/** The message of an error. */
export function errorText(error: unknown, words: Words): string {
  if (error instanceof Unreached) return words.notReached;
  if (error instanceof PartMissing) return words.partMissing;
  return error instanceof Error ? error.message : String(error);
}

/** An error, with the ID of the request in the log. */
export function Problem({ error, again }: { error: unknown; again?: () => void }) {
  const words = useWords();
  return (
    <div className="notice bad" role="alert">
      <Icon name="warning" />
      <div className="grow">
        <p>{errorText(error, words)}</p>
        {error instanceof Failure && error.requestId && (
          <p>
            {words.requestId} <code>{error.requestId}</code>
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

/** A frame for a table that may be too wide: it scrolls, also with the keyboard. */
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
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable with the keyboard
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
