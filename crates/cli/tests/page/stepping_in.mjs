// What a person does on the page reaches agents over MCP, once and in the person's name.

import assert from "node:assert/strict";

import { SLUG } from "./office.mjs";
import { field, listening, says } from "./watch.mjs";

const write = `/p/${SLUG}/compose`;

/** Fills in the form for a new message. */
async function fill(page, to, subject, body = `${subject}, in *my* words.`) {
  await field(page, "to").fill(to);
  await field(page, "subject").fill(subject);
  await field(page, "body").fill(body);
}

/** Sends what stands in the form, and waits for the word that it was sent. */
async function send(page) {
  await page.getByRole("button", { name: "Send" }).click();
  await says(page, ".notice", "Sent.");
}

export async function an_answer_reaches_the_agent_vouched_for_as_human({ office, open }) {
  await office.join("GreenDog", "BlueLake");
  const asked = await office.send("GreenDog", "BlueLake", "Rust or Go?", { thread_id: "which" });
  const page = await open(`/p/${SLUG}/thread/which`);
  await field(page, "body").fill("Rust, *please*.");
  await field(page, "name").fill("Ada");
  await field(page, "importance").selectOption("high");
  await send(page);
  const [got, ...others] = await office.inbox("GreenDog");
  assert.deepEqual(others, []);
  const { from, vouched, reply_to, thread_id, importance, body_md } = got;
  assert.deepEqual(
    { from, vouched, reply_to, thread_id, importance, body_md },
    { from: "Ada", vouched: "human", reply_to: asked, thread_id: "which", importance: "high", body_md: "Rust, *please*." },
  );
  const shown = page.locator(`#m${got.id}`);
  assert.equal(await shown.locator(".text em").textContent(), "please");
  assert.equal(await shown.locator("header .tag.blue").first().textContent(), "human");
  // Whoever wrote under a name is remembered by it.
  await page.goto(write);
  assert.equal(await field(page, "name").inputValue(), "Ada");
}

export async function a_message_to_several_names_and_to_a_channel_arrives({ office, open }) {
  await office.join("GreenDog", "BlueLake", "RedFox");
  const page = await open(write);
  await fill(page, "GreenDog, BlueLake", "Stop for today");
  await field(page, "ack").check();
  await send(page);
  for (const name of ["GreenDog", "BlueLake"]) {
    const [got] = await office.inbox(name);
    assert.deepEqual([got.subject, got.to, got.ack_required, got.vouched], ["Stop for today", ["GreenDog", "BlueLake"], true, "human"]);
  }
  assert.deepEqual(await office.inbox("RedFox"), []);
  await page.goto(`/p/${SLUG}/channels`);
  assert.match(await page.locator("#channels").textContent(), /No channel yet/);
  await page.goto(`${write}?to=%23dev`);
  assert.equal(await field(page, "to").inputValue(), "#dev");
  await fill(page, "#dev", "Hello", "Hello, @RedFox and **all**.");
  await send(page);
  await page.goto(`/p/${SLUG}/channels`);
  await page.getByRole("link", { name: "#dev" }).click();
  await says(page, "#posts .text", "Hello, @RedFox and all.");
  await page.getByRole("link", { name: "Post", exact: true }).click();
  assert.equal(await field(page, "to").inputValue(), "#dev");
}

export async function what_was_typed_outlives_a_refusal({ office, open, watch }) {
  await office.join("GreenDog");
  const page = await open(write);
  await fill(page, "GrenDog", "For <you>", "Line 1\n\n\"Line\" 2 </textarea>");
  await field(page, "name").fill("Grace");
  await field(page, "importance").selectOption("urgent");
  await field(page, "ack").check();
  watch.excuse(/status of 400/);
  await page.getByRole("button", { name: "Send" }).click();
  await says(page, "[role=alert]", /'GrenDog'.*GreenDog/);
  const kept = await page.evaluate(() => Object.fromEntries(new FormData(document.querySelector("form[action$='/send']"))));
  assert.deepEqual(
    [kept.to, kept.name, kept.subject, kept.body.replaceAll("\r", ""), kept.importance, kept.ack],
    ["GrenDog", "Grace", "For <you>", "Line 1\n\n\"Line\" 2 </textarea>", "urgent", "on"],
  );
  assert.deepEqual(await office.inbox("GreenDog"), []);
  await field(page, "to").fill("GreenDog");
  await send(page);
  const [got] = await office.inbox("GreenDog");
  assert.equal(got.from, "Grace");
  assert.equal(got.body_md.replaceAll("\r", ""), "Line 1\n\n\"Line\" 2 </textarea>");
}

export async function an_answer_that_is_refused_keeps_its_text({ office, open, watch }) {
  await office.join("GreenDog", "BlueLake");
  await office.send("GreenDog", "BlueLake", "Rust or Go?", { thread_id: "which" });
  const page = await open(`/p/${SLUG}/thread/which`);
  await field(page, "body").fill("Much </textarea> thought");
  // Nobody writes under the name of an agent.
  await field(page, "name").fill("BlueLake");
  watch.excuse(/status of 40/);
  await page.getByRole("button", { name: "Send" }).click();
  await says(page, "[role=alert]", /'BlueLake'/);
  assert.equal(await field(page, "body").inputValue(), "Much </textarea> thought");
  assert.deepEqual(await office.inbox("GreenDog"), []);
  await field(page, "name").fill("Grace");
  await send(page);
  const [got] = await office.inbox("GreenDog");
  assert.deepEqual([got.from, got.body_md], ["Grace", "Much </textarea> thought"]);
}

export async function a_form_that_is_sent_twice_sends_once({ office, open }) {
  await office.join("GreenDog");
  const page = await open(write);
  await fill(page, "GreenDog", "Pressed twice");
  await page.getByRole("button", { name: "Send" }).dblclick();
  await says(page, ".notice", "Sent.");
  await page.goto(write);
  await fill(page, "GreenDog", "Sent twice");
  // As two windows would: neither script nor button stands in the way.
  const statuses = await page.evaluate(async () => {
    const form = document.querySelector("form[action$='/send']");
    const post = () => fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    return (await Promise.all([post(), post()])).map((answer) => answer.status);
  });
  assert.deepEqual(statuses, [200, 200]);
  // Going back and pressing once more sends nothing new, either.
  await send(page);
  const subjects = (await office.inbox("GreenDog")).map((message) => message.subject);
  assert.deepEqual(subjects, ["Sent twice", "Pressed twice"]);
}

export async function a_person_acknowledges_in_their_own_name({ office, open }) {
  await office.join("GreenDog", "BlueLake");
  const page = await open(write);
  await fill(page, "GreenDog", "I am here");
  await field(page, "name").fill("Ada");
  await send(page);
  const id = await office.send("GreenDog", ["Ada", "BlueLake"], "Please confirm", { thread_id: "ack", ack_required: true });
  await page.goto(`/mail?project=${SLUG}&ack=on`);
  await page.getByText("ack due: 2 of 2").waitFor();
  await page.locator("#letters a.letter").click();
  const receipts = page.locator(`#m${id} .receipts li`);
  // Nobody acknowledges for others.
  assert.equal(await page.getByRole("button", { name: "Acknowledge" }).count(), 1);
  await receipts.filter({ hasText: "Ada" }).getByRole("button", { name: "Acknowledge" }).click();
  await says(page, ".notice", "Acknowledged.");
  await receipts.filter({ hasText: "Ada" }).getByText(/acknowledged/).waitFor();
  await receipts.filter({ hasText: "BlueLake" }).getByText("ack due").waitFor();
  const mine = (await office.inbox("Ada")).find((message) => message.id === id);
  assert.ok(mine.ack_ts, "the agent's own door says so, too");
}

export async function a_delivery_is_archived_and_brought_back({ office, open }) {
  await office.join("GreenDog", "BlueLake");
  const id = await office.send("GreenDog", "BlueLake", "Old news", { thread_id: "old" });
  const page = await open(`/p/${SLUG}/thread/old`);
  await page.getByRole("button", { name: "Put away the copy of BlueLake" }).click();
  await says(page, ".notice", "Put away. It can be brought back.");
  assert.deepEqual(await office.inbox("BlueLake"), []);
  await page.goto(`/mail?project=${SLUG}&away=on`);
  await page.locator("#letters .tag", { hasText: "put away" }).waitFor();
  await page.goto(`/mail?project=${SLUG}&agent=BlueLake`);
  await page.goto(`/p/${SLUG}/message/${id}`);
  await page.getByRole("button", { name: "Bring back the copy of BlueLake" }).click();
  await says(page, ".notice", "Brought back.");
  assert.deepEqual((await office.inbox("BlueLake")).map((message) => message.id), [id]);
  await page.goto(`/mail?project=${SLUG}&away=on`);
  await page.getByText("No mail is like that.").waitFor();
}

export async function a_reservation_is_released_and_its_holder_told({ office, open, watch }) {
  await office.join("GreenDog", "BlueLake");
  const paths = { agent_name: "GreenDog", paths: ["src/**"], exclusive: true, ttl_seconds: 600, reason: "the parser" };
  await office.call("file_reservation_paths", paths);
  const page = await listening(await open(`/p/${SLUG}/reservations`));
  const release = page.getByRole("button", { name: "Release src/** of GreenDog" });
  watch.answer(/^Release src\/\*\*\? GreenDog is told\.$/, false);
  await release.click();
  assert.equal(await page.locator("tr[data-key]").count(), 1, "who says no changes nothing");
  watch.answer(/^Release src/);
  await release.click();
  await says(page, ".notice", "Released. Its holder was told.");
  await page.getByText("Nobody holds anything.").waitFor();
  const [notice] = await office.inbox("GreenDog");
  assert.match(notice.subject + notice.body_md, /src\/\*\*/);
  assert.equal(notice.vouched, "human");
  await office.call("file_reservation_paths", { ...paths, agent_name: "BlueLake" });
  await page.locator("tr[data-key]", { hasText: "BlueLake" }).waitFor();
}

export async function a_retired_agent_gets_no_mail_until_it_returns({ office, open, watch }) {
  await office.join("GreenDog", "BlueLake");
  const page = await listening(await open(`/p/${SLUG}/agents`));
  watch.answer(/^Retire BlueLake\?/);
  await page.getByRole("button", { name: "Retire BlueLake" }).click();
  await says(page, ".notice", /^Retired\./);
  await says(page, "#retired summary", "1 retired");
  assert.equal(await page.locator("tr[data-key]", { hasText: "BlueLake" }).count(), 0);
  const late = { sender_name: "GreenDog", to: ["BlueLake"], subject: "Are you there?", body_md: "Hello" };
  assert.equal(await office.refused("send_message", late), "AGENT_RETIRED");
  await office.call("register_agent", { name: "BlueLake" });
  await page.locator("tr[data-key]", { hasText: "BlueLake" }).waitFor();
  await office.call("send_message", late);
}
