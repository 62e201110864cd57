// Saves a file that was made on the page.

/** How long the browser may take to read it. */
const PATIENCE = 10_000;

export function saveFile(name: string, content: Blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), PATIENCE);
}
