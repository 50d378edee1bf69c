// Where the server has a token, nobody sees mail who has not shown it.

import assert from "node:assert/strict";

import { SLUG } from "./office.mjs";
import { field, says, signIn } from "./watch.mjs";

export async function whoever_signs_in_comes_to_the_page_that_was_asked_for({ office, open, watch }) {
  await office.join("GreenDog", "BlueLake");
  await office.send("GreenDog", "BlueLake", "[bd-7] PROGRESS: half", { body_md: "Secret words", thread_id: "a/b?c" });
  const deep = `/p/${SLUG}/thread/${encodeURIComponent("a/b?c")}?at=1`;
  const page = await open(deep);
  assert.equal(new URL(page.url()).pathname, "/login");
  assert.ok(!(await page.content()).includes("Secret words"));
  watch.excuse(/status of 401/);
  await signIn(page, "wrong");
  await says(page, "[role=alert]", "That is not the token.");
  await signIn(page, office.token);
  await says(page, ".text", "Secret words");
  assert.equal(page.url().replace(office.origin, "").replace(/#.*/, ""), deep);
  for (const { name, httpOnly, sameSite, path, value } of await page.context().cookies()) {
    assert.deepEqual([httpOnly, sameSite, path], [true, "Lax", "/"], name);
    assert.ok(!value.includes(office.token), name);
  }
}

export async function whoever_signs_out_sees_nothing_more({ office, open, watch }) {
  await office.join("GreenDog", "BlueLake");
  await office.send("GreenDog", "BlueLake", "Secret", { thread_id: "t" });
  const page = await open("/login");
  await signIn(page, office.token);
  await page.waitForURL("/");
  const other = await open("/mail", { beside: page });
  await other.getByText("Secret").first().waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("/login");
  const project = (place) => `/p/${SLUG}/${place}`;
  const places = ["", "thread/t", "message/1", "message/1/text", "agents", "work", "reservations", "channels", "log", "compose"];
  for (const path of ["/", "/mail?unread=on", "/search?q=secret", "/compose", ...places.map(project)]) {
    await page.goto(path);
    const { pathname, searchParams } = new URL(page.url());
    assert.deepEqual([pathname, searchParams.get("next")], ["/login", path]);
  }
  // A page that was left open learns of it when something happens.
  await office.send("GreenDog", "BlueLake", "More");
  await field(other, "token").waitFor();
  watch.excuse(/status of 401/);
  assert.equal((await page.goto("/live")).status(), 401);
}
