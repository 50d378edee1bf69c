// The server of a test, spoken to as agents speak to it: over MCP, from another process than the browser.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";

/** The project of the tests, and how it stands in addresses. */
export const PROJECT = "/data/projects/app";
export const SLUG = "data-projects-app";

export class Office {
  #server;
  #running = [];

  /** `server`: {"origin", "token", "binary", "home"}. */
  constructor(server) {
    this.#server = server;
    this.origin = server.origin;
    this.token = server.token;
  }

  /** Calls a tool, which must not refuse. */
  async call(tool, given = {}) {
    const { isError, structuredContent } = await this.ask(tool, given);
    assert.equal(isError, false, `${tool} was refused: ${JSON.stringify(structuredContent)}`);
    return structuredContent.result ?? structuredContent;
  }

  /** Calls a tool, which must refuse, and says with which code. */
  async refused(tool, given) {
    const { isError, structuredContent } = await this.ask(tool, given);
    assert.equal(isError, true, `${tool} was not refused: ${JSON.stringify(structuredContent)}`);
    return structuredContent.error.code;
  }

  /** Calls a tool and returns what it answered. */
  async ask(name, given) {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    if (this.token) { headers.authorization = `Bearer ${this.token}`; }
    const known = name === "ensure_project" ? {} : { project_key: PROJECT };
    const params = { name, arguments: { ...known, ...given } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const answer = await fetch(`${this.origin}/mcp`, { method: "POST", headers, body });
    const { result } = await answer.json();
    assert.ok(result, `${name} was not answered: ${answer.status}`);
    return result;
  }

  /** Makes the project and registers agents in it. */
  async join(...names) {
    await this.call("ensure_project", { human_key: PROJECT });
    for (const name of names) { await this.call("register_agent", { name }); }
  }

  /** Sends a message and returns its number. */
  async send(from, to, subject, more = {}) {
    const given = { sender_name: from, to: [to].flat(), subject, body_md: `${subject}, in more words.`, ...more };
    return (await this.call("send_message", given)).id;
  }

  /** What an agent finds in its inbox, newest first. */
  inbox(agent) {
    return this.call("fetch_inbox", { agent_name: agent, include_bodies: true, limit: 50 });
  }

  /** Starts a command of the terminal, which runs until it is ended. */
  start(...words) {
    const { binary, home } = this.#server;
    const env = { PATH: process.env.PATH, HOME: home, POSTRIDER_HOME: home, POSTRIDER_PROJECT: PROJECT };
    const running = spawn(binary, words, { env, stdio: "ignore" });
    const ended = new Promise((done) => { running.once("exit", done); });
    const end = () => { running.kill("SIGTERM"); return ended; };
    this.#running.push(end);
    return { end };
  }

  async close() {
    await Promise.all(this.#running.map((end) => end()));
  }
}

/** Does something for each, a few at a time. */
export async function forEach(things, work, atOnce = 8) {
  const left = [...things].entries();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (const [number, thing] of left) { await work(thing, number); }
  }));
}
