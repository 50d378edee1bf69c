// Takes pictures of the page: of the sample mailbox that does not move, in light, in dark and on a phone.
//
//     node take.mjs PACKAGES PAGE FOLDER
//
// Time stands still two minutes after the newest message, so that pictures differ only where the page does.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { launch } from "../../crates/cli/tests/page/chromium.mjs";
import { small } from "./png.mjs";

const [packages, origin, folder] = process.argv.slice(2);
const PROJECT = "demo-weather-station";

const DESKTOP = { viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", locale: "en-GB", timezoneId: "UTC" };
const DARK = { ...DESKTOP, colorScheme: "dark" };
const PHONE = { ...DESKTOP, viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

const thread = `/p/${PROJECT}/thread/ws-31?after=0`;
const PICTURES = [
  [DESKTOP, [
    ["overview", "/"], ["inbox", `/mail?project=${PROJECT}`], ["thread", thread], ["search", `/search?q=migration&project=${PROJECT}`],
    ["agents", `/p/${PROJECT}/agents`, { fullPage: true }], ["work", `/p/${PROJECT}/work`], ["reservations", `/p/${PROJECT}/reservations`],
  ]],
  [DARK, [["inbox-dark", `/mail?project=${PROJECT}`], ["thread-dark", thread]]],
  [PHONE, [["inbox-phone", `/mail?project=${PROJECT}`], ["thread-phone", thread]]],
];

const browser = await launch(packages);
await mkdir(folder, { recursive: true });
for (const [look, pictures] of PICTURES) {
  const page = await (await browser.newContext({ baseURL: origin, ...look })).newPage();
  await page.goto("/mail");
  const newest = await page.locator("#letters time").first().getAttribute("datetime");
  await page.clock.setFixedTime(Date.parse(newest) + 120_000);
  for (const [name, path, how] of pictures) {
    await page.goto(path);
    if (await page.locator("[data-live]").count() > 0) { await page.locator(".live.on").waitFor(); }
    // Nothing that a look changes is under way any more.
    await page.waitForLoadState("load");
    await page.evaluate(() => document.fonts.ready);
    const picture = small(await page.screenshot({ scale: "css", caret: "hide", animations: "disabled", ...how }));
    await writeFile(join(folder, `${name}.png`), picture);
    console.log(`    ${name}.png: ${Math.ceil(picture.length / 1000)} kB`);
  }
  await page.context().close();
}
await browser.close();
