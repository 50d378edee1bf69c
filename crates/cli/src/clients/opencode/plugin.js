// The plugin for OpenCode, and for Kilo, which is made from it.
// Tells an agent of its mail, refuses writes to what others have reserved, and wakes an idle session when mail comes. Nothing
// that goes wrong here stops the agent.

import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

const HOOK = "postrider hook opencode EVENT"
const MONITOR = "postrider monitor opencode"
const PATIENCE = 5000

/** Runs a hook and returns what it answers; nothing if it fails or is late. */
function answer(event, input) {
  return new Promise((done) => {
    const command = `exec ${HOOK.replace("EVENT", event)}`
    const child = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), PATIENCE)
    let said = ""
    child.stdout.on("data", (part) => (said += part))
    child.on("error", () => done(undefined))
    child.on("close", () => {
      clearTimeout(timer)
      try {
        done(JSON.parse(said))
      } catch {
        done(undefined)
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(input))
  })
}

export const Postrider = async ({ client, directory }) => {
  // Each session by its id. `root` is the session of the main agent, `agent` the id of one below it.
  const sessions = new Map()
  const roots = new Map()
  const monitors = new Map()
  const warnings = new Map()

  const hook = (event, own, more) => {
    const who = { session_id: own.root, agent_id: own.agent, agent_type: own.kind, cwd: directory }
    return answer(event, { ...who, ...more })
  }

  const say = (id, text) => {
    const prompt = client.session.prompt({ path: { id }, body: { parts: [{ type: "text", text }] } })
    Promise.resolve(prompt).catch(() => {})
  }

  /** Listens for mail of a session. A line is one wake-up; what it says is ours, and no words of a mail. */
  const listen = (id) => {
    const command = `exec ${MONITOR} --session "$0"`
    const child = spawn("/bin/sh", ["-c", command, id], { stdio: ["pipe", "pipe", "ignore"] })
    child.on("error", () => {})
    child.stdin.on("error", () => {})
    createInterface({ input: child.stdout }).on("line", (line) => line && say(id, line))
    for (const part of [child, child.stdin, child.stdout]) part.unref?.()
    monitors.set(id, child)
  }

  const begin = async (id, created) => {
    const info = created ?? (await client.session.get({ path: { id } }))?.data
    if (info?.parentID) {
      const above = await session(info.parentID)
      const below = { root: above.root, agent: id, kind: info.agent ?? "agent" }
      below.told = (await hook("session.created", below))?.context
      return below
    }
    // A new session beside the only other, which waits for its user, is what other clients call a cleared one: it goes on under that
    // one's name. If the user comes back to the other, that begins again.
    const [before] = roots.values()
    const isCleared = created && roots.size === 1 && !before.isBusy
    if (isCleared) drop(before.root)
    const own = { root: id, isBusy: false }
    roots.set(id, own)
    const source = isCleared ? "clear" : created ? "startup" : "resume"
    own.told = (await hook("session.created", own, { source }))?.context
    if (roots.has(id)) listen(id)
    return own
  }

  const session = (id, created) => {
    if (!sessions.has(id)) sessions.set(id, begin(id, created).catch(() => ({ root: id })))
    return sessions.get(id)
  }

  const drop = (id) => {
    monitors.get(id)?.kill()
    for (const known of [sessions, roots, monitors]) known.delete(id)
  }

  /** What is said at an event of a session that is known. */
  const happened = async (type, id, properties) => {
    const own = await session(id)
    if (type === "session.deleted") drop(id)
    if (own.agent) return
    if (type === "session.deleted") await hook(type, own, { reason: "deleted" })
    if (type === "session.status") own.isBusy = properties.status?.type !== "idle"
    if (type === "session.idle") {
      own.isBusy = false
      const reason = (await hook(type, own))?.go_on
      if (reason) say(id, reason)
    }
    if (type === "session.compacted") {
      own.told = (await hook("session.created", own, { source: "compact" }))?.context ?? own.told
    }
  }

  process.on("exit", () => monitors.forEach((child) => child.kill()))

  return {
    event: async ({ event }) => {
      const { sessionID, info } = event.properties ?? {}
      const id = sessionID ?? info?.id
      if (event.type === "session.created") await session(id, info)
      else if (sessions.has(id)) await happened(event.type, id, event.properties)
    },

    "chat.message": async (input, output) => {
      const own = await session(input.sessionID)
      if (own.agent) return
      own.isBusy = true
      const text = (await hook("chat.message", own, { model: input.model?.modelID }))?.context
      const last = output.parts.at(-1)
      if (!text || !last) return
      const { messageID, sessionID } = last
      output.parts.push({ id: `${last.id}0`, messageID, sessionID, type: "text", text, synthetic: true })
    },

    "experimental.chat.system.transform": async (input, output) => {
      const own = input.sessionID && (await session(input.sessionID))
      if (own?.told) output.system.push(own.told)
    },

    "tool.execute.before": async (input, output) => {
      const call = { tool_name: input.tool, tool_use_id: input.callID, tool_input: output.args }
      const said = await hook("tool.execute.before", await session(input.sessionID), call)
      if (said?.refuse) throw new Error(said.refuse)
      if (said?.context) warnings.set(input.callID, said.context)
    },

    "tool.execute.after": async (input, output) => {
      const call = { tool_name: input.tool, tool_use_id: input.callID }
      const said = await hook("tool.execute.after", await session(input.sessionID), call)
      for (const text of [warnings.get(input.callID), said?.context]) {
        if (!text) continue
        if (typeof output.output === "string") output.output += `\n\n${text}`
        // The answer of an MCP server.
        else output.content?.push({ type: "text", text })
      }
      warnings.delete(input.callID)
    },

    "experimental.session.compacting": async (input) => {
      const own = await session(input.sessionID)
      if (!own.agent) await hook("experimental.session.compacting", own, { trigger: "manual" })
    },

    "shell.env": async (input, output) => {
      if (!input.sessionID) return
      const own = await session(input.sessionID)
      output.env.POSTRIDER_SESSION = own.root
      output.env.POSTRIDER_SUBAGENT = own.agent ?? ""
    },
  }
}
