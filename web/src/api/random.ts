// Random IDs. `crypto.randomUUID` exists on secure origins only, and plain HTTP in a local network is not one.

export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
