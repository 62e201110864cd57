"""The published Python client of the Model Context Protocol, unmodified, against `ibid serve`.

usage: mcp_client.py URL ASSISTANT
"""

import asyncio
import os
import sys

from mcp import Client

URL, ASSISTANT = sys.argv[1:3]
# With MODEL=real, a real model answers, which may cite or not and says it differently every time.
SCRIPTED = os.environ.get("MODEL") != "real"


async def speak(mode):
    heard = []

    async def progress(done, total, message):
        heard.append(message)

    async with Client(f"{URL}/mcp", mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        search = f"{ASSISTANT}_search_documents"
        assert {"ask", search} <= set(tools), sorted(tools)
        assert tools["ask"].input_schema["required"] == ["question"]
        assert ASSISTANT in tools["ask"].input_schema["properties"]["assistant"]["enum"]

        found = await client.call_tool(search, {"query": "8539.52.00"})
        assert not found.is_error and found.structured_content["passages"][0]["page"], found
        wrong = await client.call_tool(search, {"nothing": 1})
        assert wrong.is_error and "the arguments do not fit" in wrong.content[0].text, wrong

        question = {"question": "What is the rate for 8539.52.00?", "assistant": ASSISTANT}
        said = await client.call_tool("ask", question, progress_callback=progress)
        assert not said.is_error and "searching the documents" in heard, (said, heard)
        if SCRIPTED:
            assert said.structured_content["citations"][0]["page"] and "page" in said.content[0].text, said
        again = await client.call_tool("ask", {**question, "thread": said.structured_content["thread"]})
        assert again.structured_content["thread"] == said.structured_content["thread"]
        unknown = await client.call_tool("ask", {"question": "?", "assistant": "nobody"})
        assert unknown.is_error and "there is no assistant" in unknown.content[0].text, unknown


async def main():
    for mode in ("auto", "legacy", "2026-07-28"):
        await speak(mode)
        print(mode, "ok", flush=True)


asyncio.run(main())
