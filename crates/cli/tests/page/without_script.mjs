// Without a script nothing moves by itself, and everything works all the same.

import assert from "node:assert/strict";

import { SLUG, forEach } from "./office.mjs";
import { field, signIn } from "./watch.mjs";

const PLAIN = { javaScriptEnabled: false };

export async function without_a_script_mail_is_read_filtered_paged_and_searched({ office, open }) {
  await office.join("GreenDog", "BlueLake");
  await forEach(Array.from({ length: 60 }, (_, number) => number), (number) => office.send("GreenDog", "BlueLake", `Letter ${number}`));
  await office.send("GreenDog", "BlueLake", "Now", { importance: "urgent", body_md: "All *hands*" });
  const page = await open("/", PLAIN);
  await signIn(page, office.token);
  const subjects = () => page.locator(".mail .subject").allTextContents();
  await page.getByRole("link", { name: "Mail", exact: true }).first().click();
  assert.equal((await subjects()).length, 50);
  await page.getByRole("link", { name: "Older" }).click();
  assert.equal((await subjects()).length, 11);
  await field(page, "urgent").check();
  await page.getByRole("button", { name: "Show" }).click();
  assert.deepEqual(await subjects(), ["Now"]);
  await page.locator("a.letter").click();
  assert.equal(await page.locator(".text em").textContent(), "hands");
  await page.getByRole("link", { name: "Search", exact: true }).click();
  await page.getByRole("searchbox").fill("hands");
  await page.getByRole("button", { name: "Search" }).click();
  assert.deepEqual(await page.locator("mark").allTextContents(), ["hands"]);
}

export async function without_a_script_a_person_signs_in_and_steps_in({ office, open, watch }) {
  await office.join("GreenDog", "BlueLake");
  await office.call("file_reservation_paths", { agent_name: "GreenDog", paths: ["src/**"], exclusive: true });
  const page = await open("/mail", PLAIN);
  await signIn(page, office.token);
  await page.getByText("Mail appears here").waitFor();
  await page.goto(`/p/${SLUG}/compose`);
  await field(page, "to").fill("GrenDog");
  await field(page, "subject").fill("Hello");
  await field(page, "body").fill("In *my* words");
  watch.excuse(/status of 400/);
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator("[role=alert]").waitFor();
  await field(page, "to").fill("GreenDog");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("Sent.").waitFor();
  await office.call("reply_message", { sender_name: "GreenDog", message_id: 1, body_md: "Yes?" });
  await page.goto(`/p/${SLUG}/message/2`);
  await field(page, "body").fill("Never mind.");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("Sent.").waitFor();
  const got = (await office.inbox("GreenDog")).map(({ body_md, vouched }) => [body_md, vouched]);
  assert.deepEqual(got, [["Never mind.", "human"], ["In *my* words", "human"]]);
  await page.goto(`/p/${SLUG}/reservations`);
  await page.getByRole("button", { name: "Release" }).click();
  await page.getByText("Nobody holds anything.").waitFor();
  await page.goto(`/p/${SLUG}/agents`);
  await page.getByRole("button", { name: "Retire BlueLake" }).click();
  await page.getByText("1 retired").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await field(page, "token").waitFor();
}
