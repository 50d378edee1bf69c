"""The workflow with OpenAI's Agents SDK. The form in which a model is shown each tool is made too."""

import json
from contextlib import asynccontextmanager

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil

from workflow import environment, run, target


class Wrapped:
    def __init__(self, server):
        self.server = server

    async def tools(self):
        tools = await self.server.list_tools()
        for tool in tools:
            made = MCPUtil.to_function_tool(tool, self.server, convert_schemas_to_strict=True)
            assert made.name == tool.name and made.params_json_schema["type"] == "object", tool.name
        return [tool.name for tool in tools]

    async def call(self, name, arguments):
        result = await self.server.call_tool(name, arguments)
        assert not is_error(result), result
        return json.loads(result.content[0].text)

    async def refused(self, name, arguments):
        result = await self.server.call_tool(name, arguments)
        assert is_error(result), result
        return result.content[0].text

    async def resources(self):
        return [str(resource.uri) for resource in (await self.server.list_resources()).resources]

    async def read(self, address):
        return json.loads((await self.server.read_resource(address)).contents[0].text)


def is_error(result):
    # The name differs between the versions of the library below.
    return getattr(result, "is_error", None) or getattr(result, "isError", False)


@asynccontextmanager
async def connect():
    transport, where = target()
    if transport == "http":
        server = MCPServerStreamableHttp(params={"url": where}, client_session_timeout_seconds=30)
    else:
        params = {"command": where, "args": ["stdio"], "env": environment()}
        server = MCPServerStdio(params=params, client_session_timeout_seconds=30)
    async with server:
        yield Wrapped(server)


run("openai-agents", connect)
