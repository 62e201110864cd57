// Keeps a fault of one view from taking the whole page along.

import { Component, type ReactNode } from "react";
import { reach } from "../api/client";
import { attempt } from "./notices";
import { PartMissing } from "./part";
import { Problem } from "./parts";

type State = { readonly error?: unknown };

type BoundaryProps = {
  /** What is shown: the fault of one thing is none of the next. */
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
    const again = () => (error instanceof PartMissing ? attempt(anew()) : this.setState({ error: undefined }));
    return (
      <div className="centred">
        <Problem error={error} again={again} />
      </div>
    );
  }
}

/** Loads the page anew, if it is there to be loaded. */
async function anew() {
  await reach("/info");
  location.reload();
}
