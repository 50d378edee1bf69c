// Mail that wants to run, load, lead away or hide does nothing of the kind, wherever a page shows it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { canary, checkHarmless, visible } from "./harmless.mjs";
import { SLUG, forEach } from "./office.mjs";
import { field, listening } from "./watch.mjs";

const CORPUS = JSON.parse(readFileSync(new URL("hostile.json", import.meta.url)));
/** How much of a text a list shows at least, in characters that are seen. */
const SHOWN = 100;

/** What each text of the corpus is called, what it says, and what is to be seen of it in a message. */
function corpus(address) {
  const filled = (text) => text.replaceAll("CANARY", address);
  return CORPUS.map(({ name, text, shows = text }) => ({ name, text: filled(text), shows: filled(shows) }));
}

/** Sends every text in every place that takes it; returns which places took which. */
async function send(office, texts) {
  const took = { names: [], patterns: [], work: [], mail: [] };
  await office.join("Reader", "Holder");
  await forEach(texts, async (one, number) => {
    const { text } = one;
    const profile = { name: text, program: text, model: text, task_description: text };
    const name = (await office.ask("register_agent", profile)).isError ? "Holder" : text;
    if (name === text) { took.names.push(text); }
    const mail = { body_md: text, thread_id: `hostile-${number % 4}`, ack_required: true };
    took.mail.push({ ...one, id: await office.send(name, ["Reader", "#hostile"], text, mail) });
    const typed = { body_md: `Step: ${text}\nStatus: ${text}`, thread_id: text };
    const progress = { sender_name: name, to: ["Reader"], subject: `[${text}] PROGRESS: ${text}`, ...typed };
    const { isError, structuredContent } = await office.ask("send_message", progress);
    if (!isError && structuredContent.work_id === text) { took.work.push(text); }
    const lease = { agent_name: name, exclusive: true, ttl_seconds: 600, reason: text };
    const pattern = await office.ask("file_reservation_paths", { ...lease, paths: [text] });
    if (pattern.isError) { await office.call("file_reservation_paths", { ...lease, paths: [`src/${number}`] }); }
    if (!pattern.isError) { took.patterns.push(text); }
  });
  await office.call("acknowledge_message", { agent_name: "Reader", message_id: took.mail[0].id, ack_body: texts[0].text });
  return took;
}

/** Follows a page to its end through links of that name; returns all that it says. */
async function through(page, path, next, look) {
  await page.goto(path);
  let said = "";
  for (;;) {
    await checkHarmless(page, page.url());
    said += await page.locator("main").textContent();
    await look?.();
    const link = page.getByRole("link", { name: next, exact: true });
    if (await link.count() === 0) { return visible(said); }
    await link.click();
  }
}

function checkSaid(said, texts, where) {
  const missing = texts.filter((text) => !said.includes(visible(text).slice(0, SHOWN)));
  assert.deepEqual(missing, [], `not to be seen as text: ${where}`);
}

export async function hostile_mail_is_shown_as_text_and_does_nothing({ office, open }) {
  const nobody = await canary();
  const texts = corpus(nobody.address);
  const page = await open("/mail");
  const took = await send(office, texts);
  assert.ok(texts.length >= 80 && took.names.length > 90 && took.patterns.length > 40 && took.work.length > 60,
    `${texts.length} texts, ${took.names.length} names, ${took.patterns.length} patterns, ${took.work.length} work items`);
  const subjects = texts.map(({ text }) => text);
  checkSaid(await through(page, "/mail", "Older"), subjects, "subjects");
  checkSaid(await through(page, `/p/${SLUG}/agents`, "More agents"), took.names.map((name) => name.slice(0, 60)), "names");
  checkSaid(await through(page, `/p/${SLUG}/reservations`, "More"), [...took.patterns, ...subjects], "patterns and reasons");
  checkSaid(await through(page, `/p/${SLUG}/work`, "Older"), took.work, "titles of work");
  checkSaid(await through(page, `/p/${SLUG}/log`, "Older"), subjects, "the log");
  await through(page, `/p/${SLUG}/channels/hostile`, "Earlier");
  await through(page, "/search?q=hacked", "Older");
  const seen = new Map();
  const bodies = async () => {
    for (const [id, text] of await page.locator("article.message").evaluateAll((all) =>
      all.map((one) => [Number(one.id.slice(1)), one.querySelector(".text").textContent]))) { seen.set(id, text); }
  };
  for (const part of [0, 1, 2, 3]) { await through(page, `/p/${SLUG}/thread/hostile-${part}?after=0`, "Later messages", bodies); }
  const hidden = took.mail.filter(({ id, shows }) => !visible(seen.get(id)).includes(visible(shows)));
  assert.deepEqual(hidden.map(({ name, id }) => [name, seen.get(id)]), [], "not to be seen as text: bodies");
  for (const path of ["/", `/p/${SLUG}/`, `/p/${SLUG}/compose`, `/p/${SLUG}/channels`]) { await through(page, path, "none"); }
  assert.deepEqual(nobody.asked, []);
}

export async function hostile_threads_and_mail_that_comes_later_do_nothing({ office, open }) {
  const nobody = await canary();
  const texts = corpus(nobody.address).filter((_, number) => number % 6 === 0);
  await office.join("Reader");
  const page = await listening(await open(`/mail?project=${SLUG}`));
  const agents = await listening(await open(`/p/${SLUG}/agents`, { beside: page }));
  const took = await send(office, texts);
  await office.send("Reader", "Holder", "The last one");
  await page.locator(".subject", { hasText: "The last one" }).waitFor();
  await agents.locator("tr", { hasText: "Holder" }).waitFor();
  for (const live of [page, agents]) { await checkHarmless(live, "what came in while it was open"); }
  for (const text of took.work) {
    await page.goto(`/p/${SLUG}/thread/${encodeURIComponent(text)}`);
    await checkHarmless(page, text);
    assert.ok(visible(await page.locator("main").textContent()).includes(visible(text).slice(0, 60)), text);
  }
  assert.deepEqual(nobody.asked, []);
}

export async function hostile_addresses_and_names_do_nothing({ office, open, watch }) {
  const nobody = await canary();
  const texts = corpus(nobody.address).filter((_, number) => number % 15 === 0).map(({ text }) => text);
  await office.join("Reader");
  const key = "/data/x'\"><script>hacked=1</script>";
  const { slug } = await office.call("ensure_project", { human_key: key });
  await office.call("register_agent", { project_key: key, name: "Reader" });
  const page = await open("/");
  watch.excuse(/status of 40[04]/);
  for (const path of ["/", "/mail", "/search", "/compose", `/p/${slug}/`, `/mail?project=${slug}`, `/p/${slug}/agents`]) {
    await page.goto(path);
    await checkHarmless(page, path);
    assert.ok((await page.locator("main").textContent()).includes("<script>hacked=1</script>") || path === `/p/${slug}/agents`, path);
  }
  for (const text of texts) {
    const said = encodeURIComponent(text);
    for (const path of [
      `/search?q=${said}`, `/mail?agent=${said}&kind=${said}&unread=${said}&done=${said}`, `/p/${said}/`, `/p/${SLUG}/thread/${said}`,
      `/p/${SLUG}/channels/${said}`, `/p/${SLUG}/compose?to=${said}&subject=${said}&body=${said}&importance=${said}`,
    ]) {
      await page.goto(path);
      await checkHarmless(page, path);
    }
  }
  // A person may be called that, too.
  const form = page.locator("main form");
  for (const name of ["'\"><img src=x onerror=hacked=1>", "</title><script>hacked=1</script>"]) {
    await page.goto(`/p/${SLUG}/compose?to=Reader&subject=Hello&body=Hello`);
    await field(page, "name").fill(name);
    await form.getByRole("button", { name: "Send" }).click();
    await page.getByText("Sent.").waitFor();
    for (const path of [page.url(), "/mail", `/p/${SLUG}/agents`]) {
      await page.goto(path);
      await checkHarmless(page, path);
      assert.ok((await page.locator("body").textContent()).includes(name), path);
    }
  }
  assert.deepEqual(nobody.asked, []);
}
