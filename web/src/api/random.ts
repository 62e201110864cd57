// Names that nobody else has. `crypto.randomUUID` is there on secure origins only, and a server in the next room is none.

export function randomName(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
