// Loads the plugin as OpenCode does, gives it what OpenCode was seen to give, and prints what becomes of it as JSON.
// Arguments: the folder of the packages, the plugin, the folder of the project, and how many prompts the plugin sends.

import { readFileSync, writeFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const [, , , plugin, directory, count] = process.argv
const MAIN = "ses_e1591c7a2ffeJz54xwemKS0ifJ"
const BELOW = "ses_e1590cc17ffekYtzrdUGEuNsUo"
const example = (name) => JSON.parse(readFileSync(new URL(`opencode/${name}.json`, import.meta.url), "utf8"))

// Node reads a module by its name; the monitor prints what it was called with.
const text = readFileSync(plugin, "utf8").replace(/^const MONITOR = .*$/m, 'const MONITOR = "echo woken"')
const module = plugin.replace(/\.js$/, ".mjs")
writeFileSync(module, text)
const { Postrider } = await import(pathToFileURL(module))

const prompts = []
const client = {
  session: {
    get: async ({ path }) => ({ data: { id: path.id } }),
    prompt: async (request) => void prompts.push(request),
  },
}
const hooks = await Postrider({ client, directory })
const found = {}

const created = example("session.created")
await hooks.event({ event: { ...created, properties: { sessionID: MAIN, info: { id: MAIN } } } })
await hooks.event({ event: created })

const message = example("chat.message")
await hooks["chat.message"](message.input, message.output)
found.parts = message.output.parts

for (const [name, id] of [["main", MAIN], ["below", BELOW]]) {
  const system = { system: [] }
  await hooks["experimental.chat.system.transform"]({ sessionID: id }, system)
  const shell = { env: {} }
  await hooks["shell.env"]({ cwd: directory, sessionID: id, callID: "call_1" }, shell)
  found[name] = { system: system.system, env: shell.env }
}

const before = example("tool.execute.before")
await hooks["tool.execute.before"]({ ...before.input, tool: "bash" }, { args: { command: "echo two" } })
const write = { args: { filePath: `${directory}/src/lib.rs`, content: "x" } }
found.refused = await hooks["tool.execute.before"]({ ...before.input, tool: "write" }, write).catch((error) => error.message)

const after = example("tool.execute.after")
await hooks["tool.execute.after"](after.input, after.output)
found.below.output = after.output.output
const call = { ...after.input, sessionID: MAIN }
const [said, content] = [{ output: "done" }, { content: [{ type: "text", text: "{}" }] }]
await hooks["tool.execute.after"](call, said)
await hooks["tool.execute.after"](call, content)
Object.assign(found, { output: said.output, content: content.content })

await hooks["experimental.session.compacting"]({ sessionID: MAIN }, { context: [] })
for (const name of ["session.status", "session.compacted", "session.idle"]) await hooks.event({ event: example(name) })
// The monitor of the session has printed its line by now, or does so soon.
for (let waited = 0; prompts.length < Number(count) && waited < 200; waited++) await new Promise((done) => setTimeout(done, 50))
found.prompts = prompts.map(({ path, body }) => [path.id, body.parts[0].text])

console.log(JSON.stringify(found))
