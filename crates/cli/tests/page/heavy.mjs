// Mail that is too long, too deep or too wide to be laid out: the page answers, stays usable, and the whole text is to be had.

import assert from "node:assert/strict";

import { SLUG, forEach } from "./office.mjs";
import { PHONE } from "./watch.mjs";

/** How many elements a page may have: far more than any that is read, far fewer than a browser bears. */
const MOST_ELEMENTS = 30_000;
const END = "\n\nThe end of it";

const times = (count, text) => text.repeat(count);
const lines = (count, line) => Array.from({ length: count }, (_, number) => line(number)).join("\n");

const HEAVY = {
  "1 MiB of prose": times(16_384, "*Much* is [said](https://example.org/) here, and `more` is to come. &amp;\n").slice(0, 1 << 20),
  "1 MiB without a space": times(1 << 20, "x"),
  "a table of 5,000 rows": `| a | b | c |\n|---|---|---|\n${lines(5_000, (number) => `| ${number} | *x* | \`y\` |`)}`,
  "a table of 2,000 columns": `|${times(2_000, " a |")}\n|${times(2_000, "---|")}\n|${times(2_000, " b |")}`,
  "10,000 nested quotes": `${times(10_000, ">")} x`,
  "10,000 nested lists": `${times(10_000, "- ")}x`,
  "10,000 nested numbers": `${times(10_000, "1. ")}x`,
  "100,000 open brackets": times(100_000, "["),
  "100,000 nested brackets": times(50_000, "[") + times(50_000, "]"),
  "100,000 asterisks": times(100_000, "*"),
  "marks that open and never end": times(20_000, "**a _b "),
  "links that open and never end": times(25_000, "[a]("),
  "pictures in pictures": `${times(20_000, "![")}x${times(20_000, "](y)")}`,
  "backticks of every length": lines(300, (number) => `${times(number, "`")}x`),
  "angles that open and never end": times(60_000, "<a "),
  "20,000 links by reference": `${times(10_000, "[a] ")}\n\n[a]: https://example.org/`,
  "5,000 headings and rules": times(2_500, "# x\n\n---\n\n"),
  "a line of 100 kB": times(10_000, "0123456789"),
  "30,000 turns of direction": times(15_000, "\u202ea\u202c\u2067b\u2069"),
};

export async function mail_of_any_shape_leaves_the_page_usable_and_its_text_to_be_had({ office, open }) {
  await office.join("GreenDog", "BlueLake");
  const sent = [];
  await forEach(Object.entries(HEAVY), async ([name, text]) => {
    const body = text + END;
    sent.push({ name, body, id: await office.send("GreenDog", "BlueLake", name, { body_md: body, thread_id: name }) });
  }, 4);
  const page = await open("/", PHONE);
  for (const { name, body, id } of sent) {
    const answer = await page.goto(`/p/${SLUG}/message/${id}`);
    assert.equal(answer.status(), 200, name);
    const seen = await page.evaluate(() => ({
      elements: document.querySelectorAll("*").length,
      wide: document.documentElement.scrollWidth,
      shown: document.querySelector(".message > .text").textContent,
      whole: document.querySelector(".message > .text a[href$='/text']")?.getAttribute("href"),
      canAnswer: document.querySelector("#reply-text")?.getBoundingClientRect().width > 100,
    }));
    assert.ok(seen.elements < MOST_ELEMENTS, `${name}: ${seen.elements} elements`);
    assert.ok(seen.wide <= PHONE.viewport.width, `${name} is ${seen.wide} wide`);
    assert.ok(seen.canAnswer, `${name} cannot be answered`);
    assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(seen.shown), `${name} turns the direction`);
    if (!seen.whole) { assert.ok(seen.shown.includes(END.trim()), `${name} is cut, and does not say so`); }
    const whole = await page.request.get(seen.whole ?? `/p/${SLUG}/message/${id}/text`);
    assert.equal(await whole.text() === body, true, `${name} is not to be had as it was sent`);
    assert.match(whole.headers()["content-type"], /^text\/plain; charset=utf-8$/);
  }
  await page.keyboard.press("?");
  await page.locator("dialog#keys").waitFor();
  await page.goto("/mail");
  assert.equal(await page.locator("#letters .subject").count(), sent.length);
  await page.goto("/search?q=end");
  assert.equal(await page.locator(".mail .subject").count(), sent.length);
}
