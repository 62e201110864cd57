"""A server of the Model Context Protocol for tests, on the reference implementation: on standard input and output, or on a
port of loopback.

usage: mcp_server.py [PORT]
"""

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("rates")


@server.tool()
def exchange_rate(currency: str) -> str:
    """Tells how many Uruguayan pesos one unit of a currency is worth."""
    return {"USD": "1 USD = 40.25 UYU", "EUR": "1 EUR = 43.80 UYU"}[currency]


@server.tool()
def echo(text: str) -> str:
    """Repeats a text."""
    return text


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
