// What holds on every page: nothing that its policy forbids, what browsers are told, who can read it, how it fits.

import assert from "node:assert/strict";

import { forEach } from "./office.mjs";
import { PAGES, fill } from "./sample.mjs";
import { PHONE, signIn } from "./watch.mjs";

/** Goes to every page and does something there. */
async function everywhere({ office, open, watch }, options, work) {
  const page = await open("/login", options);
  await work("login", page, await page.reload());
  await signIn(page, office.token);
  await page.waitForURL("/");
  watch.excuse(/status of 404/);
  for (const [name, path, status = 200] of PAGES) {
    const answer = await page.goto(path);
    assert.equal(answer.status(), status, `${name}: ${path}`);
    await work(name, page, answer);
  }
}

function checkHeaders(name, headers) {
  const policy = new Map(headers["content-security-policy"].split(";").map((part) => {
    const [directive, ...sources] = part.trim().split(" ");
    return [directive, sources.join(" ")];
  }));
  const wanted = {
    "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "base-uri": "'none'", "frame-ancestors": "'none'",
    "form-action": "'self'",
  };
  for (const [directive, sources] of Object.entries(wanted)) { assert.equal(policy.get(directive), sources, `${name}: ${directive}`); }
  for (const [directive, sources] of policy) { assert.ok(["'none'", "'self'"].includes(sources), `${name}: ${directive} ${sources}`); }
  assert.equal(headers["x-content-type-options"], "nosniff", name);
  assert.equal(headers["x-frame-options"], "DENY", name);
  assert.match(headers["referrer-policy"], /^(same-origin|no-referrer)$/, name);
  assert.match(headers["cache-control"], /no-store/, name);
}

export async function no_page_breaks_its_own_policy_and_every_page_carries_it(given) {
  await fill(given.office);
  // What is loaded, run or complained of where it must not be fails the promise by itself.
  await everywhere(given, {}, async (name, page, answer) => {
    checkHeaders(name, await answer.allHeaders());
    assert.equal(await page.locator("main").count(), 1, name);
    assert.equal(await page.evaluate(() => document.styleSheets.length), 1, name);
    const repeated = await page.evaluate(() => {
      const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
      return ids.filter((id, at) => ids.indexOf(id) !== at);
    });
    assert.deepEqual(repeated, [], name);
    const inside = await page.evaluate(() => document.querySelectorAll("[style], script:not([src]), style").length);
    assert.equal(inside, 0, `${name} has a style or script in it`);
  });
}

async function findings(page, axe) {
  if (!await page.evaluate(() => "axe" in window)) { await page.evaluate(axe.source); }
  return page.evaluate(async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    const bad = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    return bad.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`));
  });
}

export async function every_page_is_accessible_in_light_and_in_dark(given) {
  await fill(given.office);
  const axe = given.packages("axe-core");
  const found = [];
  await everywhere(given, {}, async (name, page) => {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const finding of await findings(page, axe)) { found.push(`${name}, ${colorScheme}: ${finding}`); }
    }
  });
  assert.deepEqual(found, []);
}

export async function every_page_fits_a_phone_and_is_accessible_there(given) {
  await fill(given.office);
  const axe = given.packages("axe-core");
  const found = [];
  await everywhere(given, PHONE, async (name, page) => {
    const { wide, view } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, view: innerWidth }));
    if (wide > PHONE.viewport.width || view > PHONE.viewport.width) { found.push(`${name} is ${wide} wide`); }
    for (const finding of await findings(page, axe)) { found.push(`${name}: ${finding}`); }
  });
  assert.deepEqual(found, []);
}

/** How many bytes come over the wire for a first look, all that the page asks for included. */
async function weight({ office, open }, path) {
  const signedIn = await open("/login");
  await signIn(signedIn, office.token);
  await signedIn.waitForURL("/");
  const page = await open(null, { storageState: await signedIn.context().storageState() });
  const answers = [];
  page.on("response", (answer) => answers.push(answer));
  await page.goto(path);
  await page.locator(".live.on").waitFor();
  // A look that finds nothing new is none of the first load, nor is the stream of what happens.
  const files = [...new Map(answers.reverse().map((answer) => [answer.url(), answer])).values()].filter((answer) => !answer.url().endsWith("/live"));
  const sizes = await Promise.all(files.map(async (answer) => (await answer.request().sizes()).responseBodySize));
  if (!files.some((answer) => answer.url().endsWith("/favicon.svg"))) {
    const icon = await page.request.get("/favicon.svg", { headers: { "accept-encoding": "gzip" } });
    sizes.push(Number(icon.headers()["content-length"]));
  }
  assert.equal(sizes.length, 4, `a page, its style, its script and its icon: ${files.map((answer) => answer.url())}`);
  for (const answer of files) { assert.equal((await answer.allHeaders())["content-encoding"], "gzip", answer.url()); }
  return sizes.reduce((sum, size) => sum + size, 0);
}

export async function a_first_look_at_the_overview_or_a_full_inbox_is_small(given) {
  await fill(given.office);
  const numbers = Array.from({ length: 50 }, (_, number) => number);
  const body = (number) => `What number ${number} says is ${(number * 7_919).toString(36)}: nothing else is like it, `.repeat(6);
  await forEach(numbers, (number) => given.office.send("GreenDog", "BlueLake", `[bd-${number}] PROGRESS: ${body(number).slice(0, 60)}`, { body_md: body(number) }));
  for (const path of ["/", "/mail"]) {
    const bytes = await weight(given, path);
    assert.ok(bytes <= 60 * 1024, `${path} has ${bytes} bytes`);
  }
}
