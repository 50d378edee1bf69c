#!/usr/bin/env python3
"""A mail provider that follows the contract of exec providers to the letter.

Letters are kept in the JSON file that POSTRIDER_TEST_LETTERS names, under a lock, so that any number of calls may run at
once. The dialect can be changed by whoever imports this file: see sloppy.py.
"""

import fcntl
import json
import os
import sys
from datetime import datetime, timezone


class Failure(Exception):
    """What is said on standard error, with exit code 1."""


class Strict:
    """How letters and failures are printed."""

    def letter(self, letter):
        shown = {key: value for key, value in letter.items() if key not in ("archived", "micros")}
        time = datetime.fromtimestamp(letter["micros"] / 1_000_000, timezone.utc)
        shown["created_at"] = time.isoformat(timespec="microseconds")
        return shown

    def letters(self, letters):
        return json.dumps([self.letter(letter) for letter in letters]) if letters else ""

    def not_found(self, name):
        return Failure(f"gc-mail-error:not-found: {name}")

    def ensure_running(self):
        return ""


class Book:
    """The letters, from the oldest to the newest."""

    def __init__(self, letters, dialect):
        self.letters = letters
        self.dialect = dialect

    def find(self, name):
        for letter in self.letters:
            if letter["id"] == name:
                return letter
        raise self.dialect.not_found(name)

    def add(self, to, words, parent=None):
        now = int(datetime.now(timezone.utc).timestamp() * 1_000_000)
        last = self.letters[-1]["micros"] if self.letters else 0
        letter = {
            "id": str(len(self.letters) + 1),
            "from": words["from"],
            "to": to,
            "subject": words["subject"],
            "body": words["body"],
            "read": False,
            "micros": max(now, last + 1),
            "archived": False,
        }
        letter["thread_id"] = parent["thread_id"] if parent else letter["id"]
        if parent:
            letter["reply_to"] = parent["id"]
        self.letters.append(letter)
        return letter

    def open_for(self, recipient):
        return [letter for letter in self.letters if not letter["archived"] and recipient in ("", letter["to"])]

    def thread(self, name):
        thread = next((letter["thread_id"] for letter in self.letters if letter["id"] == name), name)
        return [letter for letter in self.letters if letter["thread_id"] == thread]

    def archive(self, name):
        letter = self.find(name)
        if letter["archived"]:
            raise Failure(f"{name} is already archived")
        letter["archived"] = True

    def do(self, verb, argument):
        """Does what was asked for and returns what to print; None for a verb that is not known."""
        dialect = self.dialect
        if verb == "send":
            return json.dumps(dialect.letter(self.add(argument, json.load(sys.stdin))))
        if verb == "reply":
            parent = self.find(argument)
            return json.dumps(dialect.letter(self.add(parent["from"], json.load(sys.stdin), parent)))
        if verb in ("inbox", "check"):
            return dialect.letters([letter for letter in self.open_for(argument) if not letter["read"]])
        if verb == "all":
            return dialect.letters(self.open_for(argument))
        if verb == "thread":
            return dialect.letters(self.thread(argument))
        if verb == "count":
            letters = self.open_for(argument)
            return json.dumps({"total": len(letters), "unread": sum(not letter["read"] for letter in letters)})
        if verb in ("archive", "delete"):
            self.archive(argument)
            return ""
        if verb in ("get", "read", "mark-read", "mark-unread"):
            letter = self.find(argument)
            if verb != "get":
                letter["read"] = verb != "mark-unread"
            return json.dumps(dialect.letter(letter)) if verb in ("get", "read") else ""
        return None


def answer(verb, argument, dialect):
    path = os.environ["POSTRIDER_TEST_LETTERS"]
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        letters = []
        if os.path.exists(path):
            with open(path) as kept:
                letters = json.load(kept)
        printed = Book(letters, dialect).do(verb, argument)
        with open(path + ".new", "w") as kept:
            json.dump(letters, kept)
        os.rename(path + ".new", path)
    return printed


def main(dialect):
    verb, *arguments = sys.argv[1:]
    try:
        if verb == "ensure-running" and not arguments:
            printed = dialect.ensure_running()
        else:
            (argument,) = arguments
            if verb not in ("send", "reply") and sys.stdin.read():
                raise Failure("standard input is not for this verb")
            printed = answer(verb, argument, dialect)
    except Failure as failure:
        sys.exit(str(failure))
    if printed is None:
        sys.exit(2)
    if printed:
        print(printed)


if __name__ == "__main__":
    main(Strict())
