#!/usr/bin/env -S python3 -SE
"""Stands in for `bd` in tests: the few commands that mail needs, and its own `mail`, with the habits of the real program.

It keeps its beads in `.beads/state.json` below the working directory, under a lock. What the real one does and a caller
easily forgets: times are cut to whole seconds; titles have limits; lists are newest first, cut at 50, and hide closed
beads and messages unless they are asked for; labels come as one CSV line; a description of `-` is read from standard
input; a part of an id finds the bead; a warning stands before an error; errors are also JSON on standard output.
"""

import fcntl
import json
import os
import shlex
import sys
import time

FOLDER = ".beads"
HIDDEN_TYPES = {"message", "gate", "agent"}
SWITCHES = {"--json", "--all", "--include-infra", "--include-gates"}
SHORT = {"-t": "--type", "-d": "--description", "-a": "--assignee", "-l": "--labels", "-n": "--limit", "-s": "--status"}
VALUES = {
    "create": {"--type", "--description", "--body-file", "--assignee", "--labels", "--metadata"},
    "show": set(),
    "list": {"--type", "--assignee", "--status", "--label", "--limit"},
    "update": {"--add-label", "--remove-label", "--set-metadata"},
    "close": set(),
}


def fail(message, stdout=None):
    print("Warning: BD_OTEL_ENDPOINT is deprecated", file=sys.stderr)
    print(message, file=sys.stderr)
    if stdout:
        print(json.dumps({"error": stdout, "schema_version": 1}))
    sys.exit(1)


def parse(verb, words):
    """Options and the other arguments, in any order, as Go programs read them."""
    options, others = {}, []
    words = list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            others.append(word)
            continue
        name, has_value, value = word.partition("=")
        name = SHORT.get(name, name)
        if name in SWITCHES:
            options[name] = True
        elif name in VALUES[verb]:
            if not has_value:
                if not words:
                    fail(f"Error: flag needs an argument: {name}")
                value = words.pop(0)
            options.setdefault(name, []).append(value)
        else:
            fail(f"Error: unknown flag: {name}")
    return options, others


def last(options, name, default=""):
    return options.get(name, [default])[-1]


def labels_in(options, name):
    found = []
    for line in options.get(name, []):
        if '"' in line:
            import csv  # Only now, because it is slow to load and every call is a new process.

            found += next(csv.reader([line], strict=True), [])
        else:
            found += line.split(",")
    return found


def resolve(state, word):
    """The bead of that id, or the only one whose id has that part."""
    if word in state["beads"]:
        return state["beads"][word]
    parts = [bead for id, bead in state["beads"].items() if word in id]
    if len(parts) == 1:
        return parts[0]
    fail(f'Error fetching {word}: no issue found matching "{word}"', "no issues found matching the provided IDs")


def create(state, options, others):
    if len(others) != 1:
        fail("Error: title required")
    title = others[0]
    if not title.strip():
        fail("Error: validation failed: title is required")
    if len(title.encode()) > 500:
        fail(f"Error: validation failed: title must be 500 characters or less (got {len(title.encode())})")
    if "--description" in options and "--body-file" in options:
        fail("Error: cannot specify both --body-file and --description/--body")
    description = last(options, "--description")
    body_file = last(options, "--body-file")
    if description == "-" or body_file == "-":
        description = sys.stdin.buffer.read().decode()
    elif body_file:
        with open(body_file, newline="") as file:
            description = file.read()
    metadata = json.loads(last(options, "--metadata", "{}"))
    if not isinstance(metadata, dict):
        fail("Error: metadata must be a JSON object")
    state["seq"] += 1
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    bead = {
        "id": f"bd-{state['seq']}",
        "title": title,
        "description": description,
        "status": "open",
        "priority": 2,
        "issue_type": last(options, "--type", "task"),
        "assignee": last(options, "--assignee"),
        "labels": labels_in(options, "--labels"),
        "metadata": metadata,
        "created_at": now,
        "updated_at": now,
    }
    state["beads"][bead["id"]] = bead
    return bead


def show(state, options, others):
    return [resolve(state, word) for word in others]


def listed(state, options, others):
    wanted_type, status = last(options, "--type"), last(options, "--status")
    found = []
    for bead in reversed(state["beads"].values()):
        is_hidden = bead["issue_type"] in HIDDEN_TYPES and "--include-infra" not in options
        is_closed = bead["status"] == "closed" and status != "closed" and "--all" not in options
        is_other = (
            (wanted_type and bead["issue_type"] != wanted_type)
            or (status and bead["status"] != status)
            or ("--assignee" in options and bead["assignee"] != last(options, "--assignee"))
            or not set(labels_in(options, "--label")) <= set(bead["labels"])
        )
        if not (is_hidden or is_closed or is_other):
            found.append(bead)
    limit = int(last(options, "--limit", "50"))
    return found[:limit] if limit else found


def update(state, options, others):
    if not VALUES["update"] & set(options):
        fail("Error: no updates specified")
    beads = [resolve(state, word) for word in others]
    for bead in beads:
        gone = options.get("--remove-label", [])
        kept = [label for label in bead["labels"] if label not in gone]
        bead["labels"] = kept + [label for label in options.get("--add-label", []) if label not in kept]
        for pair in options.get("--set-metadata", []):
            key, _, value = pair.partition("=")
            bead["metadata"][key] = value
    return beads


def close(state, options, others):
    beads = [resolve(state, word) for word in others]
    for bead in beads:
        bead["status"] = "closed"
    return beads


def config(words):
    """`bd config set KEY VALUE` keeps a setting, and `bd config get KEY` prints it."""
    path = os.path.join(FOLDER, "config.json")
    kept = {}
    if os.path.exists(path):
        with open(path) as file:
            kept = json.load(file)
    if words[:1] == ["set"] and len(words) == 3:
        kept[words[1]] = words[2]
        with open(path, "w") as file:
            json.dump(kept, file)
    elif words[:1] != ["get"] or len(words) != 2:
        fail("Error: config takes set KEY VALUE or get KEY")
    return kept.get(words[1], "")


def mail(words):
    """`bd mail …` keeps no mail itself: it hands all words over to the program that `mail.delegate` names."""
    delegate = shlex.split(config(["get", "mail.delegate"]))
    if not delegate:
        fail("Error: no mail provider; set one with: bd config set mail.delegate PROGRAM")
    os.execvp(delegate[0], delegate + words)


def main():
    verbs = {"create": create, "show": show, "list": listed, "update": update, "close": close}
    verb = sys.argv[1] if len(sys.argv) > 1 else ""
    if verb == "config":
        print(config(sys.argv[2:]))
        return
    if verb == "mail":
        mail(sys.argv[2:])
    if verb not in verbs:
        fail(f'Error: unknown command "{verb}" for "bd"')
    options, others = parse(verb, sys.argv[2:])
    if not os.path.isdir(FOLDER):
        fail("Error: database not found: run bd init")
    path = os.path.join(FOLDER, "state.json")
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = {"seq": 0, "beads": {}}
        if os.path.exists(path):
            with open(path) as file:
                state = json.load(file)
        answer = verbs[verb](state, options, others)
        if verb not in ("show", "list"):
            with open(path + ".new", "w") as file:
                json.dump(state, file)
            os.replace(path + ".new", path)
    print(json.dumps(answer, indent=2))


main()
