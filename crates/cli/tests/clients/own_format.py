"""A format of an assistant's own folder, over every API: published clients, unmodified, against `ibid serve`.

usage: own_format.py URL ASSISTANT
"""

import asyncio
import sys

import openai
from langgraph_sdk import get_client
from mcp import Client

URL, ASSISTANT = sys.argv[1:3]
FORMAT = "incident_report"
QUESTION = "What happened at the port?"


def check(api, fields):
    assert fields["schema_version"] == "1.0" and fields["severity"] == "high", (api, fields)
    assert fields["timeline"][0] == {"time": "08:15", "event": "A lamp fell.", "cost": None}, (api, fields)
    assert fields["actions"][0]["owner"] == "Harbour master" and fields["damage"] == 1250.5, (api, fields)
    assert fields["citations"][0]["page"] == 1, (api, fields)
    print(api, "ok", flush=True)


async def main():
    langgraph = get_client(url=URL)
    schemas = (await langgraph.assistants.get(ASSISTANT))["metadata"]["format_schemas"]
    assert list(schemas) == [FORMAT] and schemas[FORMAT]["properties"]["timeline"]["x-view"] == "table", schemas
    thread = await langgraph.threads.create()
    said = await langgraph.runs.wait(
        thread["thread_id"],
        ASSISTANT,
        input={"messages": [{"role": "user", "content": QUESTION}]},
        context={"format": FORMAT},
    )
    check("langgraph", said["messages"][-1]["additional_kwargs"]["structured"])

    chat = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
    messages = [{"role": "user", "content": QUESTION}]
    said = chat.chat.completions.create(model=ASSISTANT, messages=messages, extra_body={"format": FORMAT})
    check("openai", said.structured)

    async with Client(f"{URL}/mcp") as client:
        said = await client.call_tool("ask", {"question": QUESTION, "assistant": ASSISTANT, "format": FORMAT})
        check("mcp", said.structured_content["structured"])


asyncio.run(main())
