"""LangGraph's published Python client, unmodified, against `ibid serve`.

usage: langgraph_client.py URL ASSISTANT
The assistant answers slowly, word by word. `rehearsal` asks back when it is told "?".
"""

import asyncio
import os
import sys
import uuid

from langgraph_sdk import get_client
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

URL, ASSISTANT = sys.argv[1:3]
# With MODEL=real, a real model answers, which may cite or not and says it differently every time.
SCRIPTED = os.environ.get("MODEL") != "real"
QUESTION = {"messages": [{"role": "user", "content": "What is the rate for 8539.52.00?"}]}


async def gather(stream):
    return [part async for part in stream]


async def refused(call, kind):
    try:
        await call
    except kind:
        return
    raise AssertionError(f"not refused with {kind.__name__}")


async def assistants(client):
    page = await client.assistants.search(limit=2, response_format="object")
    assert len(page["assistants"]) == 2 and page["next"] == "2", page
    names = [one["assistant_id"] for one in await client.assistants.search(limit=100)]
    assert ASSISTANT in names and "rehearsal" in names, names
    one = await client.assistants.get(ASSISTANT)
    for field in ("graph_id", "config", "context", "created_at", "updated_at", "metadata", "version", "name", "description"):
        assert field in one, field
    assert await client.assistants.count(graph_id=ASSISTANT) == 1
    graph = await client.assistants.get_graph(ASSISTANT)
    ids = {node["id"] for node in graph["nodes"]}
    assert {"__start__", "generate", "__end__"} <= ids, ids
    assert all(edge["source"] in ids and edge["target"] in ids for edge in graph["edges"])
    schemas = await client.assistants.get_schemas(ASSISTANT)
    assert schemas["context_schema"]["properties"]["format"]["enum"], schemas
    await refused(client.assistants.get("nobody"), NotFoundError)


async def threads(client):
    name, tag = str(uuid.uuid4()), str(uuid.uuid4())
    made = await client.threads.create(thread_id=name, metadata={"tag": tag, "deep": {"a": 1, "b": 2}})
    assert made["thread_id"] == name and made["status"] == "idle" and made["interrupts"] == {}, made
    await refused(client.threads.create(thread_id=name), ConflictError)
    assert (await client.threads.create(thread_id=name, if_exists="do_nothing"))["thread_id"] == name
    assert (await client.threads.update(name, metadata={"more": 1}))["metadata"]["tag"] == tag
    state = await client.threads.get_state(name)
    assert state["values"] == {} and state["checkpoint"] is None, state
    found = await client.threads.search(metadata={"tag": tag, "deep": {"b": 2}}, status="idle", sort_by="created_at", sort_order="asc")
    assert [thread["thread_id"] for thread in found] == [name], found
    assert [set(one) for one in await client.threads.search(ids=[name], select=["thread_id", "status"])] == [{"thread_id", "status"}]
    assert await client.threads.count(metadata={"tag": tag}) == 1
    assert await client.threads.count(metadata={"tag": "another"}) == 0
    await refused(client.threads.get(str(uuid.uuid4())), NotFoundError)
    await refused(client.threads.get("no-id"), UnprocessableEntityError)
    await client.threads.delete(name)
    await refused(client.threads.get(name), NotFoundError)


async def streams(client):
    thread = (await client.threads.create())["thread_id"]
    begun = []
    modes = ["values", "updates", "messages-tuple", "events", "custom", "debug", "tasks", "checkpoints"]
    parts = await gather(
        client.runs.stream(thread, ASSISTANT, input=QUESTION, stream_mode=modes, stream_resumable=True, on_run_created=begun.append)
    )
    run = begun[0]["run_id"]
    assert begun[0]["thread_id"] == thread
    assert parts[0].event == "metadata" and parts[0].data["run_id"] == run, parts[0]
    kinds = {part.event for part in parts}
    assert kinds == {"metadata", "values", "updates", "messages", "events", "custom", "debug", "tasks", "checkpoints"}, kinds
    assert len({part.id for part in parts}) == len(parts), "every event has an id of its own"
    pieces = [part.data for part in parts if part.event == "messages"]
    last = [part for part in parts if part.event == "values"][-1].data["messages"]
    heard = {}
    for piece, _ in pieces:
        heard[piece["id"]] = heard.get(piece["id"], "") + piece["content"]
    assert list(heard.values())[-1].strip() == last[-1]["content"].strip(), (heard, last)
    assert last[-1]["id"] in heard and (len(heard) == 1 or not SCRIPTED), heard
    assert all(about["langgraph_node"] == "generate" for _, about in pieces)
    assert last[0]["type"] == "human" and last[-1]["type"] == "ai", last
    assert not SCRIPTED or last[-1]["additional_kwargs"]["citations"][0]["page"], "an answer carries what it rests on"
    assert {part.data["type"] for part in parts if part.event == "debug"} == {"checkpoint", "task", "task_result"}
    nodes = [node for part in parts if part.event == "updates" for node in part.data]
    assert nodes[-2:] == ["verify", "__end__"], nodes

    # Who comes back gets the rest, and what was wanted at first.
    for place in (0, len(parts) // 2, len(parts) - 2):
        rest = await gather(client.runs.join_stream(thread, run, last_event_id=parts[place].id))
        assert [part.id for part in rest] == [part.id for part in parts[place + 1 :]], (place, len(rest))
        assert [part.data for part in rest] == [part.data for part in parts[place + 1 :]]
    only = await gather(client.runs.join_stream(thread, run, stream_mode=["updates"], last_event_id="-1"))
    assert {part.event for part in only} <= {"metadata", "updates"}, only

    parts = await gather(client.runs.stream(thread, ASSISTANT, input=QUESTION, stream_mode="messages"))
    heard = [part.data[0]["content"] for part in parts if part.event == "messages/partial"]
    assert not SCRIPTED or all(after.startswith(before) for before, after in zip(heard, heard[1:])), heard
    second = await gather(client.runs.stream(thread, ASSISTANT, input=QUESTION, version="v2"))
    assert second[-1]["type"] == "values" and len(second[-1]["data"]["messages"]) == 6, second[-1]


async def runs(client):
    thread = (await client.threads.create())["thread_id"]
    made = await client.runs.create(thread, ASSISTANT, input=QUESTION, metadata={"who": "ana"}, context={"format": "structured"})
    for field in ("run_id", "assistant_id", "created_at", "updated_at", "status", "metadata", "kwargs", "multitask_strategy"):
        assert field in made, field
    assert made["metadata"] == {"who": "ana"} and made["thread_id"] == thread, made
    joined = await client.runs.join(thread, made["run_id"])
    assert joined["messages"][-1]["additional_kwargs"]["format"] == "structured", joined
    assert (await client.runs.get(thread, made["run_id"]))["status"] == "success"
    waited = await client.runs.wait(thread, ASSISTANT, input=QUESTION)
    assert [message["type"] for message in waited["messages"]] == ["human", "ai"] * 2, waited
    listed = await client.runs.list(thread, limit=1, status="success", select=["run_id", "status"])
    assert [set(run) for run in listed] == [{"run_id", "status"}], listed
    await client.runs.delete(thread, made["run_id"])
    await refused(client.runs.get(thread, made["run_id"]), NotFoundError)
    await refused(client.runs.create(str(uuid.uuid4()), ASSISTANT, input=QUESTION), NotFoundError)
    new = str(uuid.uuid4())
    assert len((await client.runs.wait(new, ASSISTANT, input=QUESTION, if_not_exists="create"))["messages"]) == 2
    await refused(client.runs.create(thread, "nobody", input=QUESTION), NotFoundError)
    await refused(client.runs.create(thread, ASSISTANT, input={"messages": []}), UnprocessableEntityError)


async def busy(client):
    thread = (await client.threads.create())["thread_id"]
    ask = lambda **how: client.runs.create(thread, ASSISTANT, input=QUESTION, **how)
    first = await ask()
    assert (await client.threads.get(thread))["status"] == "busy"
    await refused(ask(multitask_strategy="reject"), ConflictError)
    await refused(client.threads.update_state(thread, QUESTION), ConflictError)
    second = await ask(multitask_strategy="enqueue")
    assert second["status"] == "pending", second
    assert await client.runs.cancel(thread, second["run_id"]) is None
    assert (await client.runs.get(thread, second["run_id"]))["status"] == "interrupted"
    third = await client.runs.wait(thread, ASSISTANT, input=QUESTION, multitask_strategy="interrupt")
    assert (await client.runs.get(thread, first["run_id"]))["status"] == "interrupted"
    assert third["messages"][-1]["type"] == "ai"
    count = len(third["messages"])
    fourth = await ask()
    fifth = await client.runs.wait(thread, ASSISTANT, input=QUESTION, multitask_strategy="rollback")
    await refused(client.runs.get(thread, fourth["run_id"]), NotFoundError)
    assert len(fifth["messages"]) == count + 2, "what was rolled back left nothing"
    sixth = await ask()
    await client.runs.cancel(thread, sixth["run_id"], wait=True, action="rollback")
    await refused(client.runs.get(thread, sixth["run_id"]), NotFoundError)
    seventh = await ask()
    await client.runs.cancel_many(thread_id=thread, run_ids=[seventh["run_id"]])
    await client.runs.join(thread, seventh["run_id"])
    assert (await client.threads.get(thread))["status"] == "idle"
    history = await client.threads.get_history(thread, limit=100)
    assert all(state["values"]["messages"] for state in history), "what was cancelled before it began left nothing"


async def gone(client):
    """A run ends with the connection if that is wanted, and goes on if not."""
    for how, status in (("cancel", "interrupted"), ("continue", "success")):
        thread = (await client.threads.create())["thread_id"]
        begun = []
        stream = client.runs.stream(thread, ASSISTANT, input=QUESTION, stream_mode="messages-tuple", on_disconnect=how, on_run_created=begun.append)
        async for part in stream:
            if part.event == "messages":
                break
        await stream.aclose()
        await client.runs.join(thread, begun[0]["run_id"])
        assert (await client.runs.get(thread, begun[0]["run_id"]))["status"] == status, how


async def states(client):
    thread = (await client.threads.create())["thread_id"]
    for _ in range(2):
        await client.runs.wait(thread, ASSISTANT, input=QUESTION)
    state = await client.threads.get_state(thread)
    here = state["checkpoint"]
    assert here["thread_id"] == thread and here["checkpoint_ns"] == "" and state["next"] == [], state
    history = await client.threads.get_history(thread, limit=100)
    assert history[0]["checkpoint"] == here
    for newer, older in zip(history, history[1:]):
        assert newer["parent_checkpoint"] == older["checkpoint"], (newer["checkpoint"], older["checkpoint"])
        assert newer["checkpoint"]["checkpoint_id"] > older["checkpoint"]["checkpoint_id"]
    assert history[-1]["parent_checkpoint"] is None and len(history[-1]["values"]["messages"]) == 1
    assert any(state["next"] == ["generate"] and state["values"]["turn"]["sources"] for state in history)
    before = await client.threads.get_history(thread, limit=1, before=here["checkpoint_id"])
    assert before[0]["checkpoint"] == history[1]["checkpoint"]
    for one in history[:4]:
        assert await client.threads.get_state(thread, checkpoint=one["checkpoint"]) == one
        assert await client.threads.get_state(thread, checkpoint_id=one["checkpoint_id"]) == one
    added = await client.threads.update_state(thread, {"messages": [{"role": "user", "content": "by the way"}]})
    state = await client.threads.get_state(thread)
    assert state["checkpoint"] == added["checkpoint"] and state["values"]["messages"][-1]["content"] == "by the way"
    assert (await client.runs.wait(thread, ASSISTANT, input=QUESTION, checkpoint=state["checkpoint"]))["messages"]
    for earlier in (history[1], history[3]):
        await refused(client.runs.create(thread, ASSISTANT, input=QUESTION, checkpoint=earlier["checkpoint"]), ConflictError)
    copy = (await client.threads.copy(thread))["thread_id"]
    assert copy != thread
    values = [(await client.threads.get_state(one))["values"]["messages"] for one in (thread, copy)]
    assert values[0] == values[1]
    assert (await client.threads.prune([copy]))["pruned_count"] == 1


async def questions(client):
    """What `rehearsal` asks is answered with a command, once by value and once by name."""
    for name in (False, True):
        thread = (await client.threads.create())["thread_id"]
        ask = {"messages": [{"role": "user", "content": "?"}]}
        parts = await gather(client.runs.stream(thread, "rehearsal", input=ask, stream_mode=["values", "updates"]))
        asked = parts[-1].data["__interrupt__"]
        assert asked[0]["value"] == "What shall I repeat?", parts
        found = await client.threads.get(thread)
        assert found["status"] == "interrupted" and asked[0]["id"] in [one["id"] for some in found["interrupts"].values() for one in some]
        state = await client.threads.get_state(thread)
        assert state["next"] == ["ask"] and state["tasks"][0]["interrupts"] == asked, state
        assert (await client.runs.join(thread, parts[0].data["run_id"]))["__interrupt__"] == asked
        answer = {asked[0]["id"]: "this"} if name else "this"
        parts = await gather(client.runs.stream(thread, "rehearsal", command={"resume": answer}, stream_mode=["values", "messages-tuple"]))
        assert not any("__interrupt__" in part.data for part in parts if part.event == "values"), parts
        assert parts[-1].data["messages"][-1]["content"] == "this", parts[-1]
        assert (await client.threads.get(thread))["status"] == "idle"
        whole = await gather(client.runs.join_stream(thread, parts[0].data["run_id"], stream_mode=["values"], last_event_id="-1"))
        assert whole[-1].data["messages"][-1]["content"] == "this", "who comes back hears what followed the answer"
        assert "__interrupt__" not in await client.runs.join(thread, parts[0].data["run_id"])
        await refused(client.runs.create(thread, "rehearsal", command={"resume": 1}), ConflictError)


async def alone(client):
    """Runs without a thread of their own leave none behind."""
    before = await client.threads.count()
    begun = []
    parts = await gather(client.runs.stream(None, ASSISTANT, input=QUESTION, on_run_created=begun.append))
    assert parts[-1].event == "values" and len(parts[-1].data["messages"]) == 2
    again = await gather(client.runs.join_stream(parts[0].data["thread_id"], parts[0].data["run_id"], last_event_id="-1"))
    assert [part.data for part in again] == [part.data for part in parts], "who comes back hears all of it"
    talk = [("user", "What is 8539.52.00?"), ("assistant", "A lamp."), ("user", "And its rate?")]
    said = await client.runs.wait(None, ASSISTANT, input={"messages": talk})
    assert [message["type"] for message in said["messages"]] == ["human", "ai", "human", "ai"], said
    assert len((await client.runs.wait(None, ASSISTANT, input=QUESTION))["messages"]) == 2
    made = [await client.runs.create(None, ASSISTANT, input=QUESTION)]
    made += await client.runs.create_batch([{"assistant_id": ASSISTANT, "input": QUESTION}] * 2)
    assert len(made) == 3 and await client.threads.count() == before, "they are in no list"


async def main():
    client = get_client(url=URL, api_key=None)
    assert (await client.http.get("/ok"))["ok"] is True and "version" in await client.http.get("/info")
    for part in (assistants, threads, streams, runs, busy, gone, states, questions, alone):
        await part(client)
        print(part.__name__, "ok", flush=True)
    await client.aclose()


asyncio.run(main())
