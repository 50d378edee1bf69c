// Looks at pages of Postrider and keeps count of whatever goes wrong on them: nothing of it may be overlooked.

import assert from "node:assert/strict";

const SLUG = "[a-z0-9-]+";
const TEXT = "[^/]+";

/** Every address that a page of ours has or asks for, and one that is none. */
const KNOWN = [
  "/", "/mail", "/search", "/compose", "/live", "/login", "/logout", "/name", "/assets/[0-9a-f]{12}/page\\.(css|js)", "/favicon\\.svg",
  "/nowhere", `/p/${TEXT}/`, `/p/${SLUG}/(agents|work|reservations|channels|log|compose|send)`, `/p/${SLUG}/agents/retire`,
  `/p/${SLUG}/thread/${TEXT}`, `/p/${SLUG}/message/\\d+`, `/p/${SLUG}/message/\\d+/(text|reply|read|acknowledge|archive|bring-back)`,
  `/p/${SLUG}/reservations/\\d+/release`, `/p/${SLUG}/channels/${TEXT}`,
].map((path) => new RegExp(`^${path}$`));

export const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

export class Watch {
  #browser;
  #origin;
  #contexts = [];
  #excused = [];
  #answers = [];
  #trouble = [];

  constructor(browser, origin) {
    this.#browser = browser;
    this.#origin = origin;
  }

  /** Opens a page in a browser that knows nothing yet, or in one that has a page open: `{ beside: page }`. */
  async open(path, { beside, ...options } = {}) {
    const context = beside ? beside.context() : await this.#context(options);
    const page = await context.newPage();
    page.on("crash", () => this.#note("the page crashed"));
    page.on("popup", () => this.#note("a window was opened"));
    page.on("download", (download) => this.#note(`a download began: ${download.url()}`));
    if (path) { await page.goto(path); }
    return page;
  }

  /** A complaint of the console that has to come, such as on a status of 400. */
  excuse(...complaints) {
    this.#excused.push(...complaints.map((complaint) => ({ complaint, came: false })));
  }

  /** A question that a page has to ask, and which is answered with yes or no. */
  answer(question, yes = true) {
    this.#answers.push({ question, yes });
  }

  /** Fails if anything went wrong on any page so far. */
  check() {
    assert.deepEqual(this.#trouble, []);
    assert.deepEqual(this.#answers, [], "a page did not ask");
    assert.deepEqual(this.#excused.filter(({ came }) => !came), [], "a complaint did not come");
  }

  told() {
    return this.#trouble.length > 0 ? `\nWhat went wrong on the page: ${JSON.stringify(this.#trouble, null, 2)}` : "";
  }

  async close() {
    await Promise.all(this.#contexts.map((context) => context.close()));
  }

  async #context(options) {
    const context = await this.#browser.newContext({ baseURL: this.#origin, locale: "en-GB", timezoneId: "UTC", ...options });
    this.#contexts.push(context);
    context.setDefaultTimeout(30_000);
    await context.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => {
        console.error(`the policy forbids ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
      });
    });
    context.on("console", (said) => {
      if (["error", "warning"].includes(said.type())) { this.#complained(`${said.type()}: ${said.text()}`); }
    });
    context.on("weberror", (error) => this.#note(`a script failed: ${error.error().stack}`));
    context.on("dialog", (dialog) => this.#asked(dialog));
    context.on("request", (request) => this.#requested(request));
    return context;
  }

  #note(trouble) {
    this.#trouble.push(trouble);
  }

  #complained(complaint) {
    const excuse = this.#excused.find((one) => one.complaint.test(complaint));
    if (excuse) { excuse.came = true; } else { this.#note(complaint); }
  }

  #asked(dialog) {
    const at = this.#answers.findIndex(({ question }) => question.test(dialog.message()));
    if (at < 0) {
      this.#note(`a dialog: ${dialog.message()}`);
      return dialog.dismiss();
    }
    const [{ yes }] = this.#answers.splice(at, 1);
    return yes ? dialog.accept() : dialog.dismiss();
  }

  #requested(request) {
    const { origin, pathname } = new URL(request.url());
    const isOurs = origin === this.#origin && KNOWN.some((path) => path.test(pathname));
    if (!isOurs) { this.#note(`a request: ${request.method()} ${request.url()}`); }
  }
}

/** Does something with a page, which must stay the page that it is. */
export async function withoutReload(page, work) {
  let moved = 0;
  const count = (frame) => { moved += Number(frame === page.mainFrame()); };
  await page.evaluate(() => { window.isStillThis = true; });
  page.on("framenavigated", count);
  await work();
  page.off("framenavigated", count);
  assert.equal(moved, 0, "the page went elsewhere");
  assert.equal(await page.evaluate(() => window.isStillThis), true, "the page was loaded again");
}

/** Waits until the page listens to what happens. */
export async function listening(page) {
  await page.locator(".live.on").waitFor();
  return page;
}

/** Waits until a piece of the page says this, and nothing else. */
export async function says(page, selector, wanted) {
  const said = (look) => {
    const text = document.querySelector(look.selector)?.textContent.replace(/\s+/g, " ").trim();
    return look.wanted instanceof RegExp ? look.wanted.test(text) : text === look.wanted;
  };
  await page.waitForFunction(said, { selector, wanted });
}

/** A field of the page's own form, by the name under which it is sent. */
export const field = (page, name) => page.locator(`main [name=${name}]`);

/** Signs in on the page that asks for it. */
export async function signIn(page, token) {
  await field(page, "token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}
