// The schema of a field of an answer: its title, its type, and how it is shown. The file of the format says so; where it
// does not, the type decides.

export type Schema = {
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly "x-view"?: string;
  /** Titles in other languages, by language. */
  readonly "x-titles"?: Readonly<Record<string, string>>;
  /** What the values of `enum` are called, by language, in the same order. */
  readonly "x-labels"?: Readonly<Record<string, readonly string[]>>;
  /** The unit of a number, such as km. */
  readonly "x-unit"?: string;
  /** The fields that name an item. */
  readonly "x-name"?: readonly string[];
  /** The tool of the assistant that works it out again. */
  readonly "x-tool"?: string;
  /** The currency of an amount, such as EUR. */
  readonly "x-currency"?: string;
};

export type Fields = Readonly<Record<string, unknown>>;

/** Fields that every format has and that are shown elsewhere. */
const SHOWN_ELSEWHERE = ["schema_version", "answer", "citations"];

/** The fields of an answer to show, in the order of the schema, and then those that it does not know. */
export function shownFields(
  schema: Schema | undefined,
  fields: Fields,
): readonly (readonly [string, Schema, unknown])[] {
  const known = Object.entries(schema?.properties ?? {});
  const others = Object.entries(fields)
    .filter(([name]) => !schema?.properties?.[name])
    .map(([name, value]) => [name, inferred(value)] as const);
  return [...known, ...others]
    .filter(([name]) => !SHOWN_ELSEWHERE.includes(name) && !isEmpty(fields[name]))
    .map(([name, field]) => [name, field, fields[name]] as const);
}

/** The title of a field in a language; without one, its name as words. */
export function titleOf(name: string, schema: Schema | undefined, language: string): string {
  const words = name.replaceAll("_", " ");
  return schema?.["x-titles"]?.[language] ?? schema?.title ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** How a field is shown. */
export function viewOf(schema: Schema): string {
  if (schema["x-view"]) return schema["x-view"];
  if (isOf(schema, "object")) return "facts";
  if (!isOf(schema, "array")) return "text";
  return schema.items && isOf(schema.items, "object") ? "table" : "chips";
}

/** What a value of an `enum` is called in a language. */
export function labelOf(schema: Schema, value: unknown, language: string): string {
  const labels = schema["x-labels"]?.[language] ?? schema["x-labels"]?.en;
  return labels?.[schema.enum?.indexOf(value) ?? -1] ?? String(value);
}

/** Whether there is nothing to show. */
export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  if (Array.isArray(value)) return value.every(isEmpty);
  return typeof value === "object" && Object.values(value).every(isEmpty);
}

export function texts(value: unknown): readonly string[] {
  const all = Array.isArray(value) ? value : [value];
  return all.filter((one) => !isEmpty(one) && typeof one !== "object").map(String);
}

export function objects(value: unknown): readonly Fields[] {
  const all = Array.isArray(value) ? value : [value];
  return all.filter((one): one is Fields => typeof one === "object" && one !== null && !Array.isArray(one));
}

/** Whether its values are numbers, which stand under each other in a table. */
export function isNumeric(schema: Schema): boolean {
  return isOf(schema, "number") || isOf(schema, "integer");
}

function isOf(schema: Schema, type: string): boolean {
  return schema.type === type || (Array.isArray(schema.type) && schema.type.includes(type));
}

/** What a value itself says of its field. */
function inferred(value: unknown): Schema {
  if (Array.isArray(value)) return { type: "array", items: inferred(value[0]) };
  if (typeof value !== "object" || value === null) return { type: "string" };
  const properties = Object.entries(value).map(([name, inner]) => [name, inferred(inner)] as const);
  return { type: "object", properties: Object.fromEntries(properties) };
}
