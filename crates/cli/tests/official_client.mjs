// Goes through the typical workflow with the official MCP client, and fails at the first thing that is not right.
//
//     node official_client.mjs PACKAGES http URL
//     node official_client.mjs PACKAGES stdio PROGRAM
//
// PACKAGES is a folder whose node_modules holds @modelcontextprotocol/sdk.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

const [packages, transportName, target] = process.argv.slice(2);
const require = createRequire(join(packages, "anchor.js"));
const sdk = (path) => require(`@modelcontextprotocol/sdk/${path}`);
const { Client } = sdk("client/index.js");
const { StreamableHTTPClientTransport } = sdk("client/streamableHttp.js");
const { StdioClientTransport } = sdk("client/stdio.js");
const { ResourceUpdatedNotificationSchema } = sdk("types.js");

const project = "/data/projects/brenner_bot";
const encoded = encodeURIComponent(project);
const DEADLINE_MS = 60_000;

function transport() {
  if (transportName === "http") return new StreamableHTTPClientTransport(new URL(target));
  const env = { PATH: process.env.PATH, POSTRIDER_HOME: process.env.POSTRIDER_HOME };
  return new StdioClientTransport({ command: target, args: ["stdio"], env });
}

const client = new Client({ name: "official-client-test", version: "1.0.0" });
await client.connect(transport());

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError, false, `${name}: ${JSON.stringify(result)}`);
  const told = JSON.parse(result.content[0].text);
  assert.deepEqual(result.structuredContent, Array.isArray(told) ? { result: told } : told);
  return told;
}

async function read(uri) {
  const { contents } = await client.readResource({ uri });
  return JSON.parse(contents[0].text);
}

const { name, title, icons } = client.getServerVersion();
assert.deepEqual([name, title, icons.length], ["postrider", "Postrider", 1]);
const icon = await (await fetch(icons[0].src)).text();
assert.match(icon, /^<svg .*<\/svg>\s*$/s, "the picture is one that a browser can show");
assert.match(client.getInstructions(), /macro_start_session/);
const { tools } = await client.listTools();
assert.equal(tools.length, 17);
assert.equal(tools.find((tool) => tool.name === "macro_start_session").title, "Start session");
await client.ping();

// The workflow, in its eight steps.
assert.equal((await call("health_check", {})).status, "ready");
assert.equal((await call("ensure_project", { human_key: project })).slug, "data-projects-brenner-bot");
for (const name of ["GreenDog", "BlueMountain"]) {
  const agent = { project_key: project, name, program: "claude-code", model: "opus-4.5", task_description: "Kernel" };
  assert.equal((await call("register_agent", agent)).name, name);
}
const green = { project_key: project, agent_name: "GreenDog" };
const blue = { project_key: project, agent_name: "BlueMountain" };
const paths = { paths: ["apps/web/src/**"], ttl_seconds: 3600, exclusive: true };
assert.equal((await call("file_reservation_paths", { ...green, ...paths })).granted.length, 1);
const sent = await call("send_message", {
  project_key: project, sender_name: "GreenDog", to: ["BlueMountain"], subject: "KICKOFF: Cell fate",
  body_md: "# Research Session", thread_id: "RS-20251230-cell-fate", ack_required: true,
});
const inbox = await call("fetch_inbox", { ...blue, limit: 20, unread_only: true });
assert.deepEqual(inbox.map((message) => message.id), [sent.id]);
assert.equal((await call("acknowledge_message", { ...blue, message_id: sent.id })).acknowledged, true);
assert.equal((await call("release_file_reservations", { ...green, paths: paths.paths })).released, 1);

// A refusal is a result that the model can read.
const refused = await client.callTool({ name: "whois", arguments: { project_key: project, agent_name: "GrenDog" } });
assert.equal(refused.isError, true);
assert.equal(refused.structuredContent.error.code, "AGENT_NOT_FOUND");

// Resources, listed and read.
const { resources } = await client.listResources();
const inboxUri = `resource://inbox/BlueMountain?project=${encoded}`;
assert.ok(resources.some((resource) => resource.uri === inboxUri), JSON.stringify(resources));
assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 10);
assert.equal((await read(inboxUri)).messages[0].id, sent.id);
assert.equal((await read("resource://agents/data-projects-brenner-bot")).agents.length, 2);
assert.equal((await read(`resource://thread/RS-20251230-cell-fate?project=${encoded}`)).total, 1);
await assert.rejects(client.readResource({ uri: "resource://nothing" }), (error) => error.code === -32002);

// A subscribed inbox tells of mail.
const told = new Promise((resolve, reject) => {
  const late = setTimeout(() => reject(new Error("no notification came")), DEADLINE_MS);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    clearTimeout(late);
    resolve(params.uri);
  });
});
await client.subscribeResource({ uri: inboxUri });
// The client opens its stream by itself and does not say when; mail is sent until it has heard of some.
let heard = false;
told.then(() => { heard = true; }, () => { heard = true; });
for (let number = 0; !heard; number += 1) {
  const mail = { project_key: project, sender_name: "GreenDog", to: "BlueMountain", subject: `news ${number}`, body_md: "x" };
  await call("send_message", mail);
  await Promise.race([told.catch(() => {}), new Promise((resolve) => setTimeout(resolve, 100))]);
}
assert.equal(await told, inboxUri);
await client.unsubscribeResource({ uri: inboxUri });

await client.close();
console.log("all steps done");
