"""A server of the Model Context Protocol for tests, on the reference implementation: on standard input and output, or on a
port of loopback.

usage: mcp_server.py [PORT]
"""

import os
import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("rates")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def exchange_rate(currency: str) -> str:
    """Tells how many Uruguayan pesos one unit of a currency is worth."""
    return {"USD": "1 USD = 40.25 UYU", "EUR": "1 EUR = 43.80 UYU"}[currency]


@server.tool()
def echo(text: str) -> str:
    """Repeats a text."""
    return text


@server.tool()
def variable(name: str) -> str:
    """Tells what a variable of its environment is set to."""
    return os.environ.get(name, "not set")


@server.tool()
def header(name: str, context: Context) -> str:
    """Tells what a header of the request says."""
    return context.request_context.request.headers.get(name, "not set")


@server.tool()
def end() -> str:
    """Ends the server, as a crash would."""
    os._exit(1)


@server.tool()
def note(text: str) -> str:
    """Writes a note down."""
    with open(os.environ["RATES_NOTES"], "a") as notes:
        notes.write(text + "\n")
    return "noted"


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
