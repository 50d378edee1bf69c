#!/usr/bin/env python3
"""A mail provider that follows the contract of exec providers exactly.

Deliveries are kept in the JSON file that POSTRIDER_TEST_DELIVERIES names, under a lock, so that any number of calls may
run at once. The dialect can be changed by whoever imports this file: see sloppy.py.
"""

import fcntl
import json
import os
import sys
from datetime import datetime, timezone


class Failure(Exception):
    """What is said on standard error, with exit code 1."""


class Strict:
    """How deliveries and failures are printed, and whether archived mail is hidden from whoever names it."""

    hides_archived = True

    def delivery(self, delivery):
        shown = {key: value for key, value in delivery.items() if key not in ("archived", "micros")}
        time = datetime.fromtimestamp(delivery["micros"] / 1_000_000, timezone.utc)
        shown["created_at"] = time.isoformat(timespec="microseconds")
        return shown

    def deliveries(self, deliveries):
        return json.dumps([self.delivery(delivery) for delivery in deliveries]) if deliveries else ""

    def not_found(self, name):
        return Failure(f"gc-mail-error:not-found: {name}")

    def ensure_running(self):
        return ""


class Book:
    """The deliveries, from the oldest to the newest."""

    def __init__(self, deliveries, dialect):
        self.deliveries = deliveries
        self.dialect = dialect

    def is_hidden(self, delivery):
        return delivery["archived"] and self.dialect.hides_archived

    def find(self, name):
        delivery = self.find_any(name)
        if self.is_hidden(delivery):
            raise self.dialect.not_found(name)
        return delivery

    def find_any(self, name):
        for delivery in self.deliveries:
            if delivery["id"] == name:
                return delivery
        raise self.dialect.not_found(name)

    def add(self, to, words, parent=None):
        now = int(datetime.now(timezone.utc).timestamp() * 1_000_000)
        last = self.deliveries[-1]["micros"] if self.deliveries else 0
        delivery = {
            "id": str(len(self.deliveries) + 1),
            "from": words["from"],
            "to": to,
            "subject": words["subject"],
            "body": words["body"],
            "read": False,
            "micros": max(now, last + 1),
            "archived": False,
        }
        delivery["thread_id"] = parent["thread_id"] if parent else delivery["id"]
        if parent:
            delivery["reply_to"] = parent["id"]
        self.deliveries.append(delivery)
        return delivery

    def open_for(self, recipient):
        return [delivery for delivery in self.deliveries if not delivery["archived"] and recipient in ("", delivery["to"])]

    def thread(self, name):
        thread = next((delivery["thread_id"] for delivery in self.deliveries if delivery["id"] == name), name)
        return [one for one in self.deliveries if one["thread_id"] == thread and not self.is_hidden(one)]

    def archive(self, name):
        delivery = self.find_any(name)
        if delivery["archived"]:
            raise Failure(f"{name} is already archived")
        delivery["archived"] = True

    def do(self, verb, argument):
        """Does what was asked for and returns what to print; None for a verb that is not known."""
        dialect = self.dialect
        if verb == "send":
            return json.dumps(dialect.delivery(self.add(argument, json.load(sys.stdin))))
        if verb == "reply":
            parent = self.find(argument)
            return json.dumps(dialect.delivery(self.add(parent["from"], json.load(sys.stdin), parent)))
        if verb in ("inbox", "check"):
            return dialect.deliveries([delivery for delivery in self.open_for(argument) if not delivery["read"]])
        if verb == "all":
            return dialect.deliveries(self.open_for(argument))
        if verb == "thread":
            return dialect.deliveries(self.thread(argument))
        if verb == "count":
            deliveries = self.open_for(argument)
            return json.dumps({"total": len(deliveries), "unread": sum(not delivery["read"] for delivery in deliveries)})
        if verb in ("archive", "delete"):
            self.archive(argument)
            return ""
        if verb in ("get", "read", "mark-read", "mark-unread"):
            delivery = self.find(argument)
            if verb != "get":
                delivery["read"] = verb != "mark-unread"
            return json.dumps(dialect.delivery(delivery)) if verb in ("get", "read") else ""
        return None


def answer(verb, argument, dialect):
    path = os.environ["POSTRIDER_TEST_DELIVERIES"]
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        deliveries = []
        if os.path.exists(path):
            with open(path) as kept:
                deliveries = json.load(kept)
        printed = Book(deliveries, dialect).do(verb, argument)
        with open(path + ".new", "w") as kept:
            json.dump(deliveries, kept)
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
