// Shows the OpenAPI document: what can be done, what it takes, and a request that can be copied.
const make = (tag, text, ...children) => {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
};

const resolve = (schema, all) => {
  const name = schema?.$ref?.split("/").pop();
  return name ? all[name] : schema;
};

const request = (method, path, body) => {
  const lines = [`curl -X ${method.toUpperCase()} ${location.origin}${path}`];
  if (body) lines.push("  -H 'content-type: application/json'", "  -d '{…}'");
  return lines.join(" \\\n");
};

const fields = (schema, all) => {
  const list = make("dl");
  for (const [name, field] of Object.entries(resolve(schema, all)?.properties ?? {})) {
    const kind = [field.type ?? "any"].flat().join(" or ");
    list.append(make("dt", "", make("code", name), ` ${kind}`));
    if (field.description) list.append(make("dd", field.description));
  }
  return list;
};

const operation = (method, path, about, all) => {
  const shown = make("details", "", make("summary", "", make("b", method), make("code", path), make("span", about.summary)));
  for (const parameter of about.parameters ?? []) {
    const text = parameter.description ? `: ${parameter.description}` : "";
    shown.append(make("p", "", make("code", parameter.name), ` in the ${parameter.in}${text}`));
  }
  const body = about.requestBody?.content?.["application/json"]?.schema;
  if (body) shown.append(make("p", "A body in JSON:"), fields(body, all));
  shown.append(make("pre", request(method, path, body)));
  return shown;
};

const show = (api) => {
  document.getElementById("about").textContent = api.info.description;
  const groups = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, about] of Object.entries(methods)) {
      const group = groups.get(about.tags[0]) ?? make("section", "", make("h2", about.tags[0]));
      group.append(operation(method, path, about, api.components.schemas));
      groups.set(about.tags[0], group);
    }
  }
  document.getElementById("operations").replaceChildren(...groups.values());
};

fetch("/openapi.json")
  .then((answer) => answer.json())
  .then(show)
  .catch((error) => document.getElementById("operations").replaceChildren(make("p", `The document cannot be shown: ${error}`)));
