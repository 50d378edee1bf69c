"""The workflow with LangChain's adapters: every call goes through the tool that LangChain made of ours."""

import json
from contextlib import asynccontextmanager

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.resources import load_mcp_resources
from langchain_mcp_adapters.tools import load_mcp_tools

from workflow import environment, run, target


class Wrapped:
    def __init__(self, session):
        self.session = session
        self.known = {}

    async def tools(self):
        self.known = {tool.name: tool for tool in await load_mcp_tools(self.session)}
        return list(self.known)

    async def ask(self, name, arguments):
        request = {"type": "tool_call", "id": "call-1", "name": name, "args": arguments}
        return await self.known[name].ainvoke(request)

    async def call(self, name, arguments):
        message = await self.ask(name, arguments)
        assert message.status == "success", message
        told = json.loads(text_of(message))
        assert message.artifact["structured_content"] == (told if isinstance(told, dict) else {"result": told})
        return told

    async def refused(self, name, arguments):
        message = await self.ask(name, arguments)
        assert message.status == "error", message
        return text_of(message)

    async def resources(self):
        return [str(resource.uri) for resource in (await self.session.list_resources()).resources]

    async def read(self, address):
        (blob,) = await load_mcp_resources(self.session, uris=address)
        return json.loads(blob.as_string())


def text_of(message):
    content = message.content
    return content if isinstance(content, str) else content[0]["text"]


@asynccontextmanager
async def connect():
    transport, where = target()
    if transport == "http":
        connection = {"transport": "http", "url": where}
    else:
        connection = {"transport": "stdio", "command": where, "args": ["stdio"], "env": environment()}
    async with MultiServerMCPClient({"postrider": connection}).session("postrider") as session:
        yield Wrapped(session)


run("langchain", connect)
