// Feedback on an answer: thumbs up or down, with a comment.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../api/client";
import { names } from "../api/queries";
import { Dialog, IconButton, Problem } from "../ui/parts";
import { useWords } from "../words";
import { useConversation } from "./context";

export function FeedbackButtons({ run }: { run: string }) {
  const words = useWords();
  const { thread } = useConversation();
  const queries = useQueryClient();
  const path = { thread: thread?.thread_id ?? "", run };
  const [about, setAbout] = useState<1 | -1>();
  const [comment, setComment] = useState("");
  const given = useQuery({
    queryKey: names.feedback(run),
    queryFn: async () => body(await api.GET("/threads/{thread}/runs/{run}/feedback", { params: { path } })),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: !!thread,
  });
  const give = useMutation({
    mutationFn: async (feedback: { score: number; comment: string }) =>
      body(await api.POST("/threads/{thread}/runs/{run}/feedback", { params: { path }, body: feedback })),
    onSuccess: async () => {
      setAbout(undefined);
      setComment("");
      await queries.invalidateQueries({ queryKey: names.feedback(run) });
    },
  });
  const score = given.data?.at(-1)?.score ?? 0;
  return (
    <>
      <IconButton icon="good" label={words.chat.good} aria-pressed={score > 0} onClick={() => setAbout(1)} />
      <IconButton icon="bad" label={words.chat.bad} aria-pressed={score < 0} onClick={() => setAbout(-1)} />
      <Dialog
        open={about !== undefined}
        onClose={() => setAbout(undefined)}
        title={about === 1 ? words.chat.good : words.chat.bad}
        about={words.chat.feedbackAbout}
      >
        <form
          className="feedback"
          onSubmit={(event) => {
            event.preventDefault();
            if (about) give.mutate({ score: about, comment: comment.trim() });
          }}
        >
          <textarea
            className="field"
            rows={4}
            maxLength={4000}
            aria-label={words.chat.comment}
            placeholder={words.chat.comment}
            value={comment}
            onChange={(event) => setComment(event.target.value)}
          />
          {give.error && <Problem error={give.error} />}
          <div className="row feedback-bottom">
            <button type="button" className="button" onClick={() => setAbout(undefined)}>
              {words.cancel}
            </button>
            <button type="submit" className="button main" disabled={give.isPending}>
              {words.send}
            </button>
          </div>
        </form>
      </Dialog>
    </>
  );
}
