// Aborts calls at every moment, as clients of the official MCP library do: an AbortSignal ends the call, the library sends
// notifications/cancelled, and the connection stays open. Fails when a message or a reservation is lost or given twice.
//
//     node aborted_calls.mjs PACKAGES http URL
//     node aborted_calls.mjs PACKAGES stdio PROGRAM
//
// A call counts as answered when its answer arrived, whether or not somebody was still there for it. Whatever was not answered
// has to be there for the next.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

const [packages, transportName, target] = process.argv.slice(2);
const require = createRequire(join(packages, "anchor.js"));
const sdk = (path) => require(`@modelcontextprotocol/sdk/${path}`);
const { Client } = sdk("client/index.js");
const { StreamableHTTPClientTransport } = sdk("client/streamableHttp.js");
const { StdioClientTransport } = sdk("client/stdio.js");

const project = "/data/projects/brenner_bot";
const DEADLINE_MS = 20_000;
// When a call is aborted, in milliseconds: before it is sent, before, during and after the commit, and long after the answer.
const MOMENTS = [-1, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 14, 20, 40];
const ROUNDS = 2;

function transport() {
  if (transportName === "http") return new StreamableHTTPClientTransport(new URL(target));
  const env = { PATH: process.env.PATH, POSTRIDER_HOME: process.env.POSTRIDER_HOME };
  return new StdioClientTransport({ command: target, args: ["stdio"], env });
}

// A client whose wire is watched: the number of its last tool call, and every answer that arrived.
async function connect(name) {
  const client = new Client({ name, version: "1.0.0" });
  const wire = transport();
  await client.connect(wire);
  const watched = { client, lastCall: undefined, answers: new Map() };
  const [send, hear] = [wire.send.bind(wire), wire.onmessage];
  wire.send = (message, options) => {
    if (message.method === "tools/call") watched.lastCall = message.id;
    return send(message, options);
  };
  wire.onmessage = (message, extra) => {
    if (message.result !== undefined) watched.answers.set(message.id, message.result);
    return hear(message, extra);
  };
  // An answer to a call that was aborted is nobody's any more.
  client.onerror = () => {};
  return watched;
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const [blue, other] = [await connect("aborting"), await connect("other")];

function contentOf(result) {
  assert.equal(result.isError, false, JSON.stringify(result));
  return JSON.parse(result.content[0].text);
}

async function call(name, args) {
  return contentOf(await other.client.callTool({ name, arguments: { project_key: project, ...args } }));
}

// Calls a tool and aborts the call so many milliseconds after `meanwhile` began. Returns the number of the call.
async function abort(name, args, moment, meanwhile) {
  const controller = new AbortController();
  const params = { name, arguments: { project_key: project, agent_name: "BlueMountain", ...args } };
  const called = blue.client.callTool(params, undefined, { signal: controller.signal, timeout: DEADLINE_MS });
  const ended = called.then(() => true, (error) => {
    assert.ok(controller.signal.aborted, `it failed by itself: ${error}`);
    return false;
  });
  const id = blue.lastCall;
  const done = meanwhile();
  if (moment >= 0) await pause(moment);
  // Of a call that was answered, this is a late cancellation.
  controller.abort(new Error("made up"));
  await Promise.all([ended, done]);
  // Its turn comes after all that was said before.
  await blue.client.ping();
  return id;
}

await call("ensure_project", { human_key: project, project_key: undefined });
for (const name of ["GreenDog", "BlueMountain", "RedFox"]) await call("register_agent", { name });

// Mail: what was sent, and how often each message was told.
const sent = [];
const calls = [];
const toldNext = [];
async function send() {
  const mail = { sender_name: "GreenDog", to: ["BlueMountain"], subject: `Part ${sent.length}`, body_md: "x" };
  sent.push((await call("send_message", mail)).id);
}
async function takeAll(seconds) {
  const told = await call("wait_for_mail", { agent_name: "BlueMountain", timeout_seconds: seconds, limit: 100 });
  toldNext.push(...told.map((message) => message.id));
}
const toldToCalls = () => calls.flatMap((id) => (blue.answers.has(id) ? contentOf(blue.answers.get(id)) : []));
for (let round = 0; round < ROUNDS; round += 1) {
  for (const moment of MOMENTS) {
    // The mail is there already; it comes while the call waits.
    await send();
    calls.push(await abort("wait_for_mail", { timeout_seconds: 50 }, moment, async () => {}));
    await takeAll(0);
    calls.push(await abort("wait_for_mail", { timeout_seconds: 50 }, moment, send));
    await takeAll(0);
  }
}
const told = () => [...toldToCalls().map((message) => message.id), ...toldNext].sort((one, two) => one - two);
const giveUpAt = Date.now() + DEADLINE_MS;
while (told().length < sent.length && Date.now() < giveUpAt) await takeAll(1);
assert.deepEqual(told(), sent, "each message is told once");
await takeAll(0);
assert.deepEqual(told(), sent, "a late cancellation changes nothing");
const unanswered = calls.filter((id) => !blue.answers.has(id)).length;
assert.ok(unanswered > 0, "some call was aborted before its answer");

// Reservations: a free path, and one that becomes free while the call waits.
let number = 0;
let gone = 0;
async function reserve(agent_name, path, wait_seconds) {
  const args = { project_key: project, agent_name, paths: [path], exclusive: true, wait_seconds };
  const result = await other.client.callTool({ name: "file_reservation_paths", arguments: args });
  return result.isError === false;
}
async function isHeldByBlue(path) {
  const { contents } = await other.client.readResource({ uri: "resource://reservations/data-projects-brenner-bot" });
  const { reservations } = JSON.parse(contents[0].text);
  return reservations.some((one) => one.path_pattern === path && one.agent === "BlueMountain");
}
for (const isHeld of [false, true]) {
  // Whoever stood in line keeps the others waiting for some seconds, so that these are fewer.
  for (const moment of isHeld ? [-1, 0, 1, 2, 4, 8] : [...MOMENTS, ...MOMENTS]) {
    number += 1;
    const path = `src/${number}.rs`;
    if (isHeld) assert.ok(await reserve("GreenDog", path, 0));
    const meanwhile = async () => {
      if (isHeld) await call("release_file_reservations", { agent_name: "GreenDog", paths: [path] });
    };
    const args = { paths: [path], exclusive: true, wait_seconds: 50 };
    const id = await abort("file_reservation_paths", args, moment, meanwhile);
    // It is granted to the next unless the call was answered, of which the answer may still be on its way.
    const giveUpAt = Date.now() + DEADLINE_MS;
    let isFree = false;
    while (!isFree && !blue.answers.has(id)) {
      assert.ok(Date.now() < giveUpAt, `${path} (${moment} ms, ${isHeld}): a caller that is gone holds it`);
      isFree = await reserve("RedFox", path, 1);
    }
    gone += isFree ? 1 : 0;
    assert.equal(await isHeldByBlue(path), !isFree, `${path}: a late cancellation takes nothing back`);
  }
}
assert.ok(gone > 0, "some call was aborted before its answer");

await Promise.all([blue.client.close(), other.client.close()]);
console.log(`${calls.length} waits, ${unanswered} of them gone; ${number} reservations, ${gone} gone`);
console.log("all steps done");
