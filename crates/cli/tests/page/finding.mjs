// Mail is found by words, by what it is, and by going back in time; and the address says which.

import assert from "node:assert/strict";

import { SLUG, forEach } from "./office.mjs";
import { field, says } from "./watch.mjs";

const subjects = (page) => page.locator(".mail .subject").allTextContents();

export async function what_was_looked_for_is_marked({ office, open }) {
  await office.join("GreenDog", "BlueLake");
  await office.send("GreenDog", "BlueLake", "The Lexer <loops>", { body_md: "A token stays open, so the lexer and relexer loop." });
  await office.send("BlueLake", "GreenDog", "Lunch", { body_md: "At noon." });
  const page = await open("/search");
  assert.equal(await page.locator("#language").getAttribute("open"), "", "who has not asked is told how to");
  const language = "Use words \"phrases\" pre* AND OR NOT ( ) NEAR(a b, 5) ^first subject: body: from:NAME.";
  for (const part of [language, "token*", "OR", "NOT test", "from:", "subject:", "(a OR b) c", "\"off by one\""]) {
    assert.ok((await page.locator("#language").textContent()).includes(part), part);
  }
  await page.getByRole("searchbox").fill("lexer tok*");
  await page.keyboard.press("Enter");
  await page.waitForURL("/search?q=lexer+tok*&project=");
  assert.deepEqual(await subjects(page), ["The Lexer <loops>"]);
  assert.deepEqual(await page.locator("mark").allTextContents(), ["Lexer", "tok", "lexer"]);
  await page.locator("a.letter").click();
  await page.getByRole("heading", { level: 1, name: "The Lexer <loops>" }).waitFor();
  await page.goto("/search?q=from%3ABlueLake");
  assert.deepEqual(await subjects(page), ["Lunch"]);
  await page.goto(`/search?q=nowhere&project=${SLUG}`);
  await page.getByText("Nothing was said like that.").waitFor();
}

export async function a_question_that_cannot_be_read_is_explained_beside_it({ office, open }) {
  await office.join("GreenDog");
  const page = await open("/search");
  for (const bad of ["\"open", "(a OR", "AND", "a AND", "from:", "NOT", ")", "title:x", "NEAR(a"]) {
    await page.getByRole("searchbox").fill(bad);
    const [answer] = await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    assert.equal(answer.status(), 200, bad);
    assert.equal(await page.getByRole("searchbox").inputValue(), bad);
    assert.ok((await page.locator("[role=alert]").textContent()).length > 20, bad);
    assert.equal(await page.locator("#language").getAttribute("open"), "", "the language is explained beside it");
  }
}

export async function filters_live_in_the_address({ office, open }) {
  await office.join("GreenDog", "BlueLake", "RedFox");
  const other = "/data/projects/other";
  await office.call("ensure_project", { human_key: other });
  for (const name of ["GreenDog", "BlueLake"]) { await office.call("register_agent", { project_key: other, name }); }
  await office.send("GreenDog", "BlueLake", "Elsewhere", { project_key: other });
  await office.send("GreenDog", "BlueLake", "Plain");
  await office.send("GreenDog", "BlueLake", "Now", { importance: "urgent" });
  await office.send("GreenDog", "BlueLake", "Confirm", { ack_required: true });
  await office.send("GreenDog", "RedFox", "[bd-7] PROGRESS: half", { body_md: "Step: 1\nStatus: fine" });
  const read = await office.send("RedFox", "BlueLake", "Read");
  await office.call("mark_message_read", { agent_name: "BlueLake", message_id: read });
  const away = await office.send("RedFox", "BlueLake", "Away");
  const page = await open(`/p/${SLUG}/message/${away}`);
  await page.getByRole("button", { name: "Put away" }).click();
  await page.goto("/mail");
  const form = page.locator("form.filters");
  const change = async (work, query, wanted) => {
    await Promise.all([page.waitForURL((url) => query.every((part) => url.search.includes(part))), work()]);
    assert.deepEqual(await subjects(page), wanted);
    // The address alone says the same, and the filters say what it says.
    const said = await form.evaluate((form) => new URLSearchParams(new FormData(form)).toString());
    await page.goto(page.url());
    assert.deepEqual(await subjects(page), wanted);
    assert.equal(await form.evaluate((form) => new URLSearchParams(new FormData(form)).toString()), said);
  };
  const choose = (name, what) => () => field(page, name).selectOption(what);
  const box = (name) => () => field(page, name).click();
  const inProject = ["Away", "Read", "[bd-7] PROGRESS: half", "Confirm", "Now", "Plain"];
  assert.deepEqual(await subjects(page), [...inProject, "Elsewhere"]);
  await change(choose("project", SLUG), [`project=${SLUG}`], inProject);
  await change(box("unread"), ["unread=on"], ["[bd-7] PROGRESS: half", "Confirm", "Now", "Plain"]);
  await change(box("urgent"), ["unread=on", "urgent=on"], ["Now"]);
  await page.goto(`/mail?project=${SLUG}`);
  await change(box("ack"), ["ack=on"], ["Confirm"]);
  await page.goto(`/mail?project=${SLUG}`);
  await change(box("away"), ["away=on"], ["Away"]);
  await page.goto("/mail");
  await change(choose("kind", "PROGRESS"), ["kind=PROGRESS"], ["[bd-7] PROGRESS: half"]);
  await page.goto(`/mail?project=${SLUG}`);
  const agent = async () => { await field(page, "agent").fill("RedFox"); await page.keyboard.press("Enter"); };
  await change(agent, ["agent=RedFox"], ["[bd-7] PROGRESS: half"]);
  await page.goBack();
  assert.deepEqual(await subjects(page), inProject, "going back undoes a filter");
}

export async function a_few_hundred_messages_are_paged_through_without_gap_or_repeat({ office, open }) {
  await office.join("GreenDog", "BlueLake");
  const numbers = Array.from({ length: 230 }, (_, number) => number);
  const sent = new Map();
  await forEach(numbers, async (number) => {
    const importance = number % 2 ? "urgent" : "normal";
    sent.set(await office.send("GreenDog", "BlueLake", `Letter ${number}`, { importance, thread_id: "all" }), number);
  });
  const newestFirst = [...sent.keys()].sort((one, other) => other - one).map((id) => `Letter ${sent.get(id)}`);
  const page = await open(`/mail?project=${SLUG}&urgent=on`);
  const older = page.getByRole("link", { name: "Older" });
  const all = async () => {
    const shown = await subjects(page);
    while (await older.count() > 0) {
      await older.click();
      shown.push(...await subjects(page));
    }
    return shown;
  };
  const urgent = newestFirst.filter((subject) => Number(subject.split(" ")[1]) % 2 === 1);
  assert.deepEqual(await all(), urgent, "filters hold on every page");
  await page.getByRole("link", { name: "Newest" }).click();
  await page.waitForURL((url) => url.searchParams.get("project") === SLUG && !url.searchParams.has("before"));
  assert.deepEqual(await subjects(page), urgent.slice(0, 50));
  await page.goto("/mail");
  assert.equal((await subjects(page)).length, 50);
  assert.deepEqual(await all(), newestFirst);
  // A conversation is paged through the other way, and shows the message that was asked for.
  const ids = [...sent.keys()].sort((one, other) => one - other);
  await page.goto(`/p/${SLUG}/message/${ids[100]}`);
  await page.locator(`#m${ids[100]}`).waitFor();
  const seen = [];
  const look = async () => seen.push(...await page.locator("article.message").evaluateAll((all) => all.map((one) => Number(one.id.slice(1)))));
  await page.goto(`/p/${SLUG}/thread/all?after=0`);
  await look();
  const later = page.getByRole("link", { name: "Later messages" });
  while (await later.count() > 0) {
    await later.click();
    await look();
  }
  assert.deepEqual(seen, ids);
  await says(page, "h1", `Letter ${sent.get(ids[0])}`);
  await page.getByRole("link", { name: "Earlier messages" }).waitFor();
}
