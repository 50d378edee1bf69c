// The extension for Copilot.
// Wakes an idle session when mail comes. Copilot runs it with --experimental alone.

import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { joinSession } from "@github/copilot-sdk/extension"

const MONITOR = "postrider monitor copilot"

const session = await joinSession({ tools: [] })
const id = process.env.SESSION_ID
if (id) {
  const monitor = spawn("/bin/sh", ["-c", `exec ${MONITOR} --session "$0"`, id], { stdio: ["pipe", "pipe", "ignore"] })
  monitor.on("error", () => {})
  monitor.stdin.on("error", () => {})
  process.on("exit", () => monitor.kill())
  // A line is one wake-up; what it says is ours, and no words of a mail.
  createInterface({ input: monitor.stdout }).on("line", (line) => {
    if (line) session.send({ prompt: line }).catch(() => {})
  })
}
