// The datasets that were picked from conversations.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../api/client";
import { names, type Period, type TurnFilter, useDatasets } from "../api/queries";
import { Confirm, IconButton, Problem, TableFrame } from "../ui/parts";
import { saveFile } from "../ui/save";
import { useNumbers, useWords } from "../words";

export function Datasets() {
  const words = useWords();
  const numbers = useNumbers();
  const queries = useQueryClient();
  const datasets = useDatasets();
  const [leaving, setLeaving] = useState<string>();
  const drop = useMutation({
    mutationFn: async (dataset: string) =>
      body(await api.DELETE("/datasets/{dataset}", { params: { path: { dataset } } })),
    onSettled: async () => queries.invalidateQueries({ queryKey: names.datasets }),
  });
  const save = useMutation({
    mutationFn: async (dataset: string) => {
      const file = await api.GET("/datasets/{dataset}/export", { params: { path: { dataset } }, parseAs: "blob" });
      saveFile(`${dataset}.jsonl`, body(file) as unknown as Blob);
    },
  });
  return (
    <section className="status-section">
      <h2>{words.datasets.title}</h2>
      {datasets.error && <Problem error={datasets.error} again={() => datasets.refetch()} />}
      {save.error && <Problem error={save.error} />}
      {datasets.data?.length === 0 && <p className="soft">{words.datasets.none}</p>}
      {datasets.data && datasets.data.length > 0 && (
        <TableFrame label={words.datasets.title} className="card">
          <table className="plain">
            <thead>
              <tr>
                <th scope="col">{words.datasets.dataset}</th>
                <th scope="col" className="number">
                  {words.datasets.questions}
                </th>
                <th scope="col">
                  <span className="hidden">{words.datasets.download}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {datasets.data.map(({ name, items }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td className="number">{numbers.count(items)}</td>
                  <td className="number">
                    <IconButton
                      icon="export"
                      label={words.datasets.downloadOf(name)}
                      onClick={() => save.mutate(name)}
                    />
                    <IconButton
                      icon="delete"
                      label={words.datasets.deleteOf(name)}
                      onClick={() => setLeaving(name)}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableFrame>
      )}
      <Confirm
        open={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
        title={words.datasets.deleteOf(leaving ?? "")}
        about={words.datasets.deleteAbout}
        yes={words.delete}
        onYes={() => leaving && drop.mutate(leaving)}
      />
    </section>
  );
}

/** Adds all turns behind a figure to a dataset. */
export function AddTurns({ of }: { of: Period & { readonly filter: TurnFilter } }) {
  const words = useWords();
  const numbers = useNumbers();
  const queries = useQueryClient();
  const [dataset, setDataset] = useState("");
  const add = useMutation({
    mutationFn: async () => {
      const query = {
        from: String(of.from),
        to: String(of.to),
        filter: of.filter,
        ...(of.assistant ? { assistant: of.assistant } : {}),
      };
      const path = { dataset: dataset.trim() };
      return body(await api.POST("/datasets/{dataset}/turns", { params: { path, query } }));
    },
    onSettled: async () => queries.invalidateQueries({ queryKey: names.datasets }),
  });
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate();
      }}
    >
      <input
        className="field"
        required
        maxLength={80}
        aria-label={words.datasets.dataset}
        placeholder={words.datasets.dataset}
        value={dataset}
        onChange={(event) => setDataset(event.target.value)}
      />
      <button type="submit" className="button" disabled={add.isPending}>
        {words.datasets.addThese}
      </button>
      {add.data && <span className="small soft">{words.datasets.added(numbers.count(add.data.added))}</span>}
      {add.error && <Problem error={add.error} />}
    </form>
  );
}
