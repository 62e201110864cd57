"""A graph of one node that asks the model at MODEL_URL, for LangGraph's own server."""

import os

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

model = ChatOpenAI(base_url=os.environ["MODEL_URL"], api_key="none", model="stand-in", streaming=True, max_retries=0)


async def answer(state: MessagesState):
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END).compile()
