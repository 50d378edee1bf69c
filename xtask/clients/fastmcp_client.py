"""The workflow with the client of FastMCP."""

import json
from contextlib import asynccontextmanager

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

from workflow import environment, run, target


class Wrapped:
    def __init__(self, client: Client):
        self.client = client

    async def tools(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, name, arguments):
        result = await self.client.call_tool(name, arguments)
        told = json.loads(result.content[0].text)
        assert result.structured_content == (told if isinstance(told, dict) else {"result": told})
        return told

    async def refused(self, name, arguments):
        result = await self.client.call_tool(name, arguments, raise_on_error=False)
        assert result.is_error
        return result.content[0].text

    async def resources(self):
        return [str(resource.uri) for resource in await self.client.list_resources()]

    async def read(self, address):
        return json.loads((await self.client.read_resource(address))[0].text)


@asynccontextmanager
async def connect():
    transport, where = target()
    if transport == "http":
        chosen = StreamableHttpTransport(where)
    else:
        chosen = StdioTransport(where, ["stdio"], env=environment(), keep_alive=False)
    async with Client(chosen) as client:
        yield Wrapped(client)


run("fastmcp", connect)
