// Keeps a fault of one view from taking the whole page along.

import { Component, type ReactNode } from "react";
import { Problem } from "./parts";

type State = { readonly error?: unknown };

export class Boundary extends Component<{ children: ReactNode }, State> {
  override state: State = {};

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="centred">
        <Problem error={error} again={() => this.setState({ error: undefined })} />
      </div>
    );
  }
}
