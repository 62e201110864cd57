"""The same turns on LangGraph: ten trivial nodes, a state with 20 texts of 1.8 KB, 100 turns on one thread.

usage: langgraph_reference.py plain|sqlite FOLDER
Prints one JSON object: CPU seconds per node, bytes stored, resident bytes.
"""
import json
import os
import sqlite3
import sys
import time
from typing import TypedDict

import psutil
from langgraph.graph import END, START, StateGraph

NODES = 10
TURNS = 100
WARM_UP = 20
TEXTS = [f"{number:02d}" + "x" * 1798 for number in range(20)]


class State(TypedDict):
    texts: list[str]
    count: int


def step(state: State) -> dict:
    return {"count": state["count"] + 1}


def graph(checkpointer):
    builder = StateGraph(State)
    previous = START
    for number in range(NODES):
        builder.add_node(f"n{number}", step)
        builder.add_edge(previous, f"n{number}")
        previous = f"n{number}"
    builder.add_edge(previous, END)
    return builder.compile(checkpointer=checkpointer)


def main() -> None:
    kind, folder = sys.argv[1], sys.argv[2]
    figures = {}
    if kind == "plain":
        app = graph(None)
        app.invoke({"texts": TEXTS, "count": 0})
        before = time.process_time()
        for _ in range(TURNS):
            app.invoke({"texts": TEXTS, "count": 0})
        figures["cpu_s_per_node"] = (time.process_time() - before) / (TURNS * NODES)
    else:
        from langgraph.checkpoint.sqlite import SqliteSaver

        def turns(name: str, count: int) -> sqlite3.Connection:
            connection = sqlite3.connect(os.path.join(folder, name), check_same_thread=False)
            app = graph(SqliteSaver(connection))
            config = {"configurable": {"thread_id": "one"}}
            for turn in range(count):
                app.invoke({"texts": TEXTS, "count": 0} if turn == 0 else {"count": 0}, config)
            return connection

        # Both sides warm up on a file of their own.
        turns("warm.db", WARM_UP).close()
        before = time.process_time()
        connection = turns("measured.db", TURNS)
        figures["cpu_s_per_node"] = (time.process_time() - before) / (TURNS * NODES)
        figures["resident_bytes"] = psutil.Process().memory_info().rss
        connection.close()
        figures["stored_bytes"] = os.path.getsize(os.path.join(folder, "measured.db"))
    print(json.dumps(figures))


main()
