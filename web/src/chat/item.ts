// The item behind a message of the chat library.

import { useAuiState } from "@assistant-ui/react";
import type { Item } from "./items";

export function useItem(): Item {
  return useAuiState((state) => state.message.metadata.custom?.item as Item);
}
