#!/usr/bin/env -S python3 -SE
"""Writes beads into the file of a city, as a program of the city does: under the lock, beside, then renamed.

`city_writer.py CITY NAME COUNT` writes COUNT deliveries from NAME. With a COUNT of `die` it takes the lock, leaves half a
file beside the real one, says so on standard output, and waits to be killed.
"""

import fcntl
import json
import os
import sys
from datetime import datetime, timezone

city, name, count = sys.argv[1:]
path = os.path.join(city, ".gc", "beads.json")

for _ in range(1 if count == "die" else int(count)):
    with open(path + ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        store = {"seq": 0, "beads": [], "deps": []}
        if os.path.exists(path):
            with open(path) as file:
                store = json.load(file)
        store["seq"] += 1
        store["beads"].append({
            "id": f"gc-{store['seq']}",
            "title": "Hello",
            "status": "open",
            "issue_type": "message",
            "created_at": datetime.now(timezone.utc).isoformat(),
            "assignee": "bob",
            "from": name,
            "labels": [f"thread:thread-{store['seq']}"],
            "theirs": {"kept": True},
        })
        text = json.dumps(store, indent=2)
        with open(path + ".tmp", "w") as file:
            if count == "die":
                file.write(text[: len(text) // 2])
                file.flush()
                print("half", flush=True)
                sys.stdin.read()
                sys.exit("it was to be killed")
            file.write(text)
        os.replace(path + ".tmp", path)
