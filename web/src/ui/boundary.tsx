// An error boundary, so that an error in one view does not break the whole page.

import { Component, type ReactNode } from "react";
import { reach } from "../api/client";
import { attempt } from "./notices";
import { PartMissing } from "./part";
import { Problem } from "./parts";

type State = { readonly error?: unknown };

type BoundaryProps = {
  /** Identifies the content. Another value clears the error. */
  of?: string;
  children: ReactNode;
};

export class Boundary extends Component<BoundaryProps, State> {
  override state: State = {};

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override componentDidUpdate(before: BoundaryProps) {
    if (before.of !== this.props.of && this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    const again = () => (error instanceof PartMissing ? attempt(reload()) : this.setState({ error: undefined }));
    return (
      <div className="centred">
        <Problem error={error} again={again} />
      </div>
    );
  }
}

/** Reloads the page if the server can be reached. */
async function reload() {
  await reach("/info");
  location.reload();
}
