"""A small workflow of two agents, for whatever library connects.

Each script beside this one wraps one client library in an object with `tools`, `call`, `refused`, `resources` and `read`,
and hands it to `run`. The last line on standard output is a JSON object that `cargo xtask clients --sdk` reads. Anything
that is not right ends the script with an error.
"""

import asyncio
import json
import os
import sys
from contextlib import AbstractAsyncContextManager
from typing import Callable
from urllib.parse import quote


def target() -> tuple[str, str]:
    """The transport, and the address or the program."""
    _, transport, where = sys.argv
    return transport, where


def environment() -> dict[str, str]:
    """What a server needs that a client starts."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "POSTRIDER_HOME")}


async def workflow(client, project: str) -> dict[str, int]:
    calls = 0

    async def call(tool: str, /, **arguments):
        nonlocal calls
        calls += 1
        return await client.call(tool, arguments)

    listed = await client.tools()
    for name in ("ensure_project", "register_agent", "send_message", "fetch_inbox", "acknowledge_message"):
        assert name in listed, f"{name} is not listed"

    assert (await call("health_check"))["status"] == "ready"
    assert (await call("ensure_project", human_key=project))["human_key"] == project
    for name in ("GreenDog", "BlueMountain"):
        assert (await call("register_agent", project_key=project, name=name, program="sdk"))["name"] == name
    body = "# Research\n\nWith \"quotes\", a tab\t and 世界."
    sent = await call(
        "send_message", project_key=project, sender_name="GreenDog", to=["BlueMountain"],
        subject="KICKOFF: Cell fate", body_md=body, thread_id="RS-1", ack_required=True,
    )
    blue = {"project_key": project, "agent_name": "BlueMountain"}
    inbox = await call("fetch_inbox", **blue, limit=20)
    assert [(mail["id"], mail["from"], mail["body_md"]) for mail in inbox] == [(sent["id"], "GreenDog", body)], inbox
    assert (await call("acknowledge_message", **blue, message_id=sent["id"]))["acknowledged"] is True

    # A refusal reaches the caller as one, with the next step in its text.
    said = await client.refused("whois", {"project_key": project, "agent_name": "GrenDog"})
    assert "GrenDog" in said and "GreenDog" in said, said
    calls += 1

    addresses = await client.resources()
    inbox_address = f"resource://inbox/BlueMountain?project={quote(project, safe='')}"
    assert inbox_address in addresses, addresses
    slug = project.strip("/").replace("/", "-")
    reads = [inbox_address, f"resource://agents/{slug}", f"resource://thread/RS-1?project={quote(project, safe='')}"]
    inbox, agents, thread = [await client.read(address) for address in reads]
    assert inbox["messages"][0]["id"] == sent["id"], inbox
    assert {agent["name"] for agent in agents["agents"]} == {"GreenDog", "BlueMountain"}, agents
    assert thread["total"] == 1, thread
    return {"listed": len(listed), "called": calls, "read": len(reads)}


def run(name: str, connect: Callable[[], AbstractAsyncContextManager]) -> None:
    """Goes through the workflow with what `connect` opens."""
    transport, _ = target()

    async def go() -> dict[str, int]:
        async with connect() as client:
            return await workflow(client, f"/data/projects/{name}-{transport}")

    print(json.dumps(asyncio.run(go())))
