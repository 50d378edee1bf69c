// A mailbox with something on every page: work in every state, urgent mail, leases with a line, channels, the retired.

import { SLUG } from "./office.mjs";

const OTHER = "/data/projects/other";

const PROFILES = [
  ["GreenDog", "claude-code", "opus-4.5", "The lexer of the configuration language, and its tests"],
  ["BlueLake", "codex-cli", "gpt-5.2", "Review of whatever is ready"],
  ["RedFox", "gemini-cli", "gemini-3", ""],
  ["A name that is so long that no column of any table was made for it, and that wants to be broken somewhere", "", "", "?"],
];

const BODY = `# Plan

Tokens come **first**, see [the grammar](https://example.org/grammar) and \`src/lexer.rs\`:

1. strings
2. numbers
   - whole
   - broken

> Who tests?

| part | days |
|---|---:|
| lexer | 2 |
| parser | 3 |

\`\`\`rust
fn next(&mut self) -> Option<Token> { self.tokens.next().filter(|token| !token.is_space()).or_else(|| self.refill()) }
\`\`\`

- [x] grammar
- [ ] lexer ~~today~~`;

const TYPED = [
  ["[bd-1] PROGRESS: The lexer", "Step: strings\nStatus: half of them\nPercent: 40"],
  ["[bd-2] HELP_REQUEST: The parser loops", "Issue: endless loop\nProblem: It never ends.\nQuestion: Who knows why?"],
  ["[bd-3] DONE: The grammar", "Commit: 0123abc\nSummary: It is written down."],
  ["[bd-4] FAILED: The fuzzer", "Failure type: crash\nReason: out of memory"],
  ["[bd-5] ACCEPTED: The docs", "Accepted bead: bd-5"],
];

/** Fills the mailbox; returns what a few things in it are called. */
export async function fill(office) {
  await office.join();
  for (const [name, program, model, task_description] of PROFILES) {
    await office.call("register_agent", { name, program, model, task_description });
  }
  await office.call("ensure_project", { human_key: OTHER });
  await office.call("register_agent", { project_key: OTHER, name: "GreyOwl" });
  const plan = { thread_id: "plan", body_md: BODY, ack_required: true, importance: "urgent", cc: ["RedFox"] };
  const first = await office.send("GreenDog", ["BlueLake", PROFILES[3][0]], "A plan for the lexer", plan);
  await office.call("acknowledge_message", { agent_name: "BlueLake", message_id: first, ack_body: "Fine with me" });
  await office.call("reply_message", { sender_name: "BlueLake", message_id: first, body_md: "And `tests`?", importance: "high" });
  for (const [subject, body_md] of TYPED) { await office.send("GreenDog", "BlueLake", subject, { body_md }); }
  await office.send("GreenDog", "RedFox", "x".repeat(180), { body_md: "y".repeat(500), importance: "low", thread_id: "z".repeat(100) });
  await office.send("RedFox", "#dev", "Hello", { body_md: "Hello **all**, and @BlueLake." });
  await office.send("BlueLake", "all", "Lunch", { body_md: "At noon." });
  const lease = { ttl_seconds: 3600, exclusive: true };
  await office.call("file_reservation_paths", { ...lease, agent_name: "GreenDog", paths: ["src/lexer/**"], reason: "bd-1" });
  await office.call("file_reservation_paths", { ...lease, agent_name: "RedFox", paths: [`docs/${"long/".repeat(30)}*.md`], exclusive: false });
  // Who is told at once that it has to wait stands in line all the same, until its time is over.
  office.ask("file_reservation_paths", { ...lease, agent_name: "BlueLake", paths: ["src/**"], wait_seconds: 60 });
  return { first };
}

/** Every page that shows this mailbox to somebody who is in, with the status that it has. */
export const PAGES = [
  ["overview", "/"],
  ["project", `/p/${SLUG}/`],
  ["mail", "/mail"],
  ["mail of a project", `/mail?project=${SLUG}&unread=on`],
  ["nothing like that", "/mail?away=on"],
  ["thread", `/p/${SLUG}/thread/plan`],
  ["thread of work", `/p/${SLUG}/thread/bd-2`],
  ["search", "/search"],
  ["found", "/search?q=lexer"],
  ["a bad question", "/search?q=%22open"],
  ["agents", `/p/${SLUG}/agents`],
  ["work", `/p/${SLUG}/work`],
  ["reservations", `/p/${SLUG}/reservations`],
  ["channels", `/p/${SLUG}/channels`],
  ["channel", `/p/${SLUG}/channels/dev`],
  ["log", `/p/${SLUG}/log`],
  ["compose", `/p/${SLUG}/compose`],
  ["choose", "/compose"],
  ["no such thread", `/p/${SLUG}/thread/nowhere`, 404],
  ["no such page", "/nowhere", 404],
];

