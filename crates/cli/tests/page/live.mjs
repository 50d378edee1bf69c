// A page that is open shows what happens, without being loaded again.

import assert from "node:assert/strict";

import { SLUG } from "./office.mjs";
import { listening, says, withoutReload } from "./watch.mjs";

export async function mail_appears_in_the_inbox_without_a_reload({ office, open }) {
  await office.join("GreenDog", "BlueLake");
  await office.send("GreenDog", "BlueLake", "The first");
  const page = await listening(await open(`/mail?project=${SLUG}`));
  const subjects = () => page.locator("#letters .subject").allTextContents();
  assert.deepEqual(await subjects(), ["The first"]);
  await withoutReload(page, async () => {
    await office.send("BlueLake", "GreenDog", "The second");
    await page.locator("#letters li.new .subject", { hasText: "The second" }).waitFor();
    assert.deepEqual(await subjects(), ["The second", "The first"]);
    await says(page, "#news", "1 new entry");
    // What is read elsewhere is no longer unread here.
    assert.equal(await page.locator("#letters li.unread").count(), 2);
    await office.call("mark_message_read", { agent_name: "BlueLake", message_id: 1 });
    await page.waitForFunction(() => document.querySelectorAll("#letters li.unread").length === 1);
  });
}

export async function what_is_typed_and_where_one_is_outlives_changes({ office, open }) {
  await office.join("GreenDog", "BlueLake");
  const first = await office.send("GreenDog", "BlueLake", "The plan", { thread_id: "plan" });
  const page = await listening(await open(`/p/${SLUG}/thread/plan`));
  await withoutReload(page, async () => {
    await page.locator("#reply-text").fill("Half a sen");
    await office.send("BlueLake", "GreenDog", "More", { thread_id: "plan" });
    await page.locator("#messages article").nth(1).waitFor();
    assert.equal(await page.locator("#reply-text").inputValue(), "Half a sen");
    await page.keyboard.type("tence");
    assert.equal(await page.locator("#reply-text").inputValue(), "Half a sentence", "the field is still the one typed in");
  });
  const list = await listening(await open(`/mail?project=${SLUG}`));
  await list.keyboard.press("j");
  await list.keyboard.press("j");
  const at = () => list.locator("li.at").getAttribute("data-key");
  assert.equal(await at(), `m${first}`);
  await office.send("BlueLake", "GreenDog", "Even more");
  await list.locator("#letters .subject", { hasText: "Even more" }).waitFor();
  assert.equal(await at(), `m${first}`);
}

export async function counts_and_presence_turn_on_pages_that_are_open({ office, open }) {
  await office.join("GreenDog", "BlueLake");
  const overview = await listening(await open("/"));
  const agents = await listening(await open(`/p/${SLUG}/agents`, { beside: overview }));
  const count = (what) => `[data-key="p${SLUG}"] .numbers div:nth-child(${what}) dd`;
  const dot = (agent) => agents.locator("tr", { hasText: agent }).locator(".dot");
  const UNREAD = 1, AWAKE = 2, HELP = 3;
  await says(overview, count(UNREAD), "0");
  await says(overview, count(AWAKE), "2");
  const stays = (work) => withoutReload(overview, () => withoutReload(agents, work));
  await stays(async () => {
    await office.send("GreenDog", "BlueLake", "[bd-7] HELP_REQUEST: The lexer", { body_md: "Problem: It loops." });
    await says(overview, count(UNREAD), "1");
    await says(overview, count(HELP), "1");
  });
  const watcher = office.start("watch", "--agent", "RedFox", "--mailbox", "--", "true");
  await stays(async () => {
    await says(overview, count(AWAKE), "3");
    await dot("RedFox").and(agents.locator(".awake")).waitFor();
    await watcher.end();
    await dot("RedFox").and(agents.locator(".off")).waitFor();
    await says(overview, count(AWAKE), "2");
    await office.call("fetch_inbox", { agent_name: "RedFox" });
    await dot("RedFox").and(agents.locator(".awake")).waitFor();
    await says(overview, count(AWAKE), "3");
  });
}
