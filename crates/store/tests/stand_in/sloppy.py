#!/usr/bin/env python3
"""The same provider, as careless as scripts in the field are: every liberty that a caller has to bear."""

import json
import sys
from datetime import datetime, timezone

# The folder of the tests stays as it is.
sys.dont_write_bytecode = True

import provider  # noqa: E402


class Sloppy(provider.Strict):
    """Numbers for ids, whole seconds without a zone, nulls, the newest second first, its own words for failures."""

    def delivery(self, delivery):
        shown = super().delivery(delivery)
        for key in ("id", "thread_id", "reply_to"):
            shown[key] = int(shown[key]) if key in shown else None
        time = datetime.fromtimestamp(delivery["micros"] / 1_000_000, timezone.utc).replace(tzinfo=None)
        shown["created_at"] = time.isoformat(sep=" ", timespec="seconds")
        if not shown["read"]:
            del shown["read"]
        for key in ("subject", "body"):
            shown[key] = shown[key] or None
        return {**shown, "cc": None, "priority": None, "mood": {"fine": True}}

    def deliveries(self, deliveries):
        if not deliveries:
            return "null"
        shown = [self.delivery(delivery) for delivery in deliveries]
        # Those of one second stay in the order in which they were sent.
        return json.dumps(sorted(shown, key=lambda delivery: delivery["created_at"], reverse=True), indent=2)

    def not_found(self, name):
        return provider.Failure(f"Error: message {name} was not found")

    def ensure_running(self):
        raise provider.Failure("there is nothing to run")


if __name__ == "__main__":
    provider.main(Sloppy())
