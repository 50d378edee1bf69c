// Hands that stay on the keyboard get everywhere.

import assert from "node:assert/strict";

import { SLUG } from "./office.mjs";

export async function keys_lead_through_mail({ office, open }) {
  await office.join("GreenDog", "BlueLake");
  for (const subject of ["One", "Two", "Three"]) { await office.send("GreenDog", "BlueLake", subject); }
  const page = await open(`/mail?project=${SLUG}`);
  const press = async (...keys) => { for (const key of keys) { await page.keyboard.press(key); } };
  const at = () => page.locator("li.at .subject").allTextContents();
  assert.deepEqual(await at(), []);
  await press("j");
  assert.deepEqual(await at(), ["Three"]);
  await press("j", "j", "j", "j");
  assert.deepEqual(await at(), ["One"], "behind the last there is nothing");
  await press("k");
  assert.deepEqual(await at(), ["Two"]);
  await press("Enter");
  await page.getByRole("heading", { level: 1, name: "Two" }).waitFor();
  await press("r");
  assert.equal(await page.evaluate(() => document.activeElement.id), "reply-text");
  await press("j", "c", "u", "?", "/");
  assert.equal(await page.locator("#reply-text").inputValue(), "jcu?/", "in a field, keys write");
  await press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement === document.body), true);
  await press("u");
  await page.waitForURL(`/mail?project=${SLUG}`);
}

export async function keys_open_search_writing_and_the_list_of_keys({ office, open }) {
  await office.join("GreenDog");
  const page = await open("/mail");
  const keys = page.locator("dialog#keys");
  await page.keyboard.press("?");
  await keys.waitFor();
  const listed = await keys.locator("kbd").allTextContents();
  assert.deepEqual(listed.sort(), ["/", "?", "Enter", "Esc", "c", "j", "k", "r", "u"]);
  await page.keyboard.press("Escape");
  await keys.waitFor({ state: "hidden" });
  // With another key held down, it is the browser that is meant.
  await page.keyboard.press("Control+c");
  await page.keyboard.press("/");
  await page.waitForURL("/search");
  const box = page.getByRole("searchbox");
  assert.equal(await box.evaluate((box) => box === document.activeElement), true);
  await page.keyboard.type("cj?");
  assert.equal(await box.inputValue(), "cj?");
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.keyboard.type("x");
  assert.equal(await box.inputValue(), "x", "what stood there is written over");
  await page.keyboard.press("Escape");
  await page.keyboard.press("c");
  await page.waitForURL(`/p/${SLUG}/compose`);
}
