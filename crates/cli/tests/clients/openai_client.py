"""OpenAI's published Python client, unmodified, against `ibid serve`.

usage: openai_client.py URL ASSISTANT
"""

import os
import sys

import openai

URL, ASSISTANT = sys.argv[1:3]
# With MODEL=real, a real model answers, which may cite or not and says it differently every time.
SCRIPTED = os.environ.get("MODEL") != "real"
QUESTION = "What is the rate for 8539.52.00?"
client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0, _strict_response_validation=True)


def refused(call, kind, word):
    try:
        call()
    except kind as error:
        assert word in str(error), error
        return
    raise AssertionError(f"not refused with {kind.__name__}")


def models():
    names = [model.id for model in client.models.list()]
    assert ASSISTANT in names and "rehearsal" in names, names
    assert client.models.retrieve(ASSISTANT).owned_by == "ibid"
    refused(lambda: client.models.retrieve("nobody"), openai.NotFoundError, "there is no assistant")


def chat():
    messages = [{"role": "system", "content": "Be a pirate."}, {"role": "user", "content": QUESTION}]
    said = client.chat.completions.create(model=ASSISTANT, messages=messages)
    assert said.choices[0].finish_reason == "stop" and said.choices[0].message.content, said
    assert said.usage.total_tokens > 0 and said.usage.total_tokens == said.usage.prompt_tokens + said.usage.completion_tokens
    if SCRIPTED:
        assert said.citations[0]["page"], said
        mark = said.choices[0].message.annotations[0].url_citation
        assert said.choices[0].message.content[mark.start_index : mark.end_index] == "[1]", mark

    # A follow-up carries the conversation itself.
    messages += [{"role": "assistant", "content": said.choices[0].message.content}, {"role": "user", "content": "And why?"}]
    stream = client.chat.completions.create(model=ASSISTANT, messages=messages, stream=True, stream_options={"include_usage": True})
    parts = list(stream)
    text = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
    assert text == said.choices[0].message.content or not SCRIPTED, text
    assert parts[0].choices[0].delta.role == "assistant" and (len(parts) > 5 or not SCRIPTED)
    assert parts[-1].choices == [] and parts[-1].usage.completion_tokens > 0
    assert parts[-2].choices[0].finish_reason == "stop" and (not SCRIPTED or parts[-2].citations[0]["page"])
    with client.chat.completions.stream(model=ASSISTANT, messages=messages) as helped:
        said = helped.get_final_completion().choices[0].message.content
        assert said == text if SCRIPTED else said

    fields = client.chat.completions.create(model=ASSISTANT, messages=messages[1:2], extra_body={"format": "structured"})
    assert fields.structured["schema_version"] == "1.0", fields
    refused(lambda: client.chat.completions.create(model="nobody", messages=messages), openai.NotFoundError, "there is no assistant")
    refused(lambda: client.chat.completions.create(model=ASSISTANT, messages=[]), openai.BadRequestError, "the user's")
    refused(lambda: client.chat.completions.create(model=ASSISTANT, messages=messages, n=2), openai.BadRequestError, "`n`")
    refused(lambda: client.chat.completions.create(model=ASSISTANT, messages=messages, extra_body={"mode": "fast"}), openai.APIStatusError, "no mode `fast`")


def responses():
    said = client.responses.create(model=ASSISTANT, input=QUESTION, metadata={"who": "ana"})
    assert said.status == "completed" and said.output_text and said.metadata == {"who": "ana"}, said
    assert said.usage.total_tokens > 0
    if SCRIPTED:
        assert said.citations[0]["page"] and said.output[0].content[0].annotations[0].type == "file_citation"
    assert client.responses.retrieve(said.id).output_text == said.output_text
    more = client.responses.create(model=ASSISTANT, input="And why?", previous_response_id=said.id)
    items = list(client.responses.input_items.list(more.id))
    assert [item.role for item in items] == ["user", "assistant", "user"], items
    # From the first one again: another branch of the conversation.
    other = client.responses.create(model=ASSISTANT, input="Really?", previous_response_id=said.id)
    assert [item.role for item in client.responses.input_items.list(other.id)] == ["user", "assistant", "user"]

    events = list(client.responses.create(model=ASSISTANT, input=[{"role": "user", "content": QUESTION}], stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = [event.type for event in events]
    assert kinds[:4] == ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"], kinds
    ends = ["response.output_text.annotation.added"] if SCRIPTED else []
    assert kinds[-4 - len(ends) :] == ends + ["response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"], kinds
    deltas = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert deltas == events[-1].response.output_text == said.output_text if SCRIPTED else deltas
    with client.responses.stream(model=ASSISTANT, input=QUESTION) as helped:
        again = helped.get_final_response().output_text
        assert again == said.output_text if SCRIPTED else again
    name = events[0].response.id
    again = list(client.responses.retrieve(name, stream=True, starting_after=3))
    assert [event.type for event in again] == kinds[4:], again

    # What is not to be kept leaves nothing in the conversation that it went on from.
    client.responses.create(model=ASSISTANT, input="Why?", previous_response_id=other.id, store=False)
    later = client.responses.create(model=ASSISTANT, input="And now?", previous_response_id=other.id)
    assert [item.role for item in client.responses.input_items.list(later.id)] == ["user", "assistant", "user", "assistant", "user"]

    slow = client.responses.create(model=ASSISTANT, input=QUESTION, background=True)
    assert slow.status in ("queued", "in_progress"), slow
    assert client.responses.cancel(slow.id).status == "cancelled"
    client.responses.delete(more.id)
    refused(lambda: client.responses.retrieve(more.id), openai.NotFoundError, "there is no response")
    refused(lambda: client.responses.create(model=ASSISTANT, input="?", previous_response_id="resp_x"), openai.NotFoundError, "there is no response")


for part in (models, chat, responses):
    part()
    print(part.__name__, "ok", flush=True)
