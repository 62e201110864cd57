// Adds the question of an answer to a dataset, with what a right answer says.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api, body } from "../api/client";
import { names, useDatasets } from "../api/queries";
import { Dialog, IconButton, Problem } from "../ui/parts";
import { useWords } from "../words";

export function PickButton({ run }: { run: string }) {
  const words = useWords();
  const [open, setOpen] = useState(false);
  return (
    <>
      <IconButton icon="plus" label={words.datasets.add} onClick={() => setOpen(true)} />
      {open && <PickDialog run={run} onClose={() => setOpen(false)} />}
    </>
  );
}

function PickDialog({ run, onClose }: { run: string; onClose: () => void }) {
  const words = useWords();
  const queries = useQueryClient();
  const datasets = useDatasets();
  const [dataset, setDataset] = useState("");
  const [values, setValues] = useState("");
  const [refusal, setRefusal] = useState(false);
  const id = useId();
  const add = useMutation({
    mutationFn: async () => {
      const said = values.split("\n").map((line) => line.trim());
      return body(
        await api.POST("/datasets/{dataset}/items", {
          params: { path: { dataset: dataset.trim() } },
          body: {
            run_id: run,
            values: refusal ? [] : said.filter((line) => line !== ""),
            ...(refusal ? { refusal: true } : {}),
          },
        }),
      );
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: names.datasets });
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title={words.datasets.add} about={words.datasets.addAbout}>
      <form
        className="feedback"
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <label htmlFor={`${id}-name`}>{words.datasets.dataset}</label>
        <input
          id={`${id}-name`}
          className="field"
          required
          maxLength={80}
          list={`${id}-names`}
          value={dataset}
          onChange={(event) => setDataset(event.target.value)}
        />
        <datalist id={`${id}-names`}>
          {datasets.data?.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <label htmlFor={`${id}-values`}>{words.datasets.values}</label>
        <textarea
          id={`${id}-values`}
          className="field"
          rows={3}
          disabled={refusal}
          value={values}
          onChange={(event) => setValues(event.target.value)}
        />
        <label className="row">
          <input type="checkbox" checked={refusal} onChange={(event) => setRefusal(event.target.checked)} />
          {words.datasets.refusal}
        </label>
        {add.error && <Problem error={add.error} />}
        <div className="row feedback-bottom">
          <button type="button" className="button" onClick={onClose}>
            {words.cancel}
          </button>
          <button type="submit" className="button main" disabled={add.isPending}>
            {words.datasets.addShort}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
