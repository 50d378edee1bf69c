// Loads the extension as Copilot does, beside a stand-in for its package, and prints the first prompt that it sends.
// Arguments: the folder of the packages, and the extension.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"

const [, , , extension] = process.argv
const stand_in = join(dirname(extension), "node_modules/@github/copilot-sdk")
mkdirSync(stand_in, { recursive: true })
writeFileSync(join(stand_in, "package.json"), '{ "name": "@github/copilot-sdk", "exports": { "./extension": "./extension.mjs" } }')
const session = "{ send: async (request) => console.log(JSON.stringify(request)) }"
writeFileSync(join(stand_in, "extension.mjs"), `export const joinSession = async () => (${session})\n`)

// The monitor prints what it was called with.
const text = readFileSync(extension, "utf8").replace(/^const MONITOR = .*$/m, 'const MONITOR = "echo woken"')
writeFileSync(extension, text)
await import(pathToFileURL(extension))
