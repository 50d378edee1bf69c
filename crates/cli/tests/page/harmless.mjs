// Looks into a page for anything that a message may not put there.

import assert from "node:assert/strict";
import { createServer } from "node:http";

/** A server that nobody may ask for anything; what was asked for all the same is kept. */
export async function canary() {
  const asked = [];
  const server = createServer((request, answer) => {
    asked.push(request.url);
    answer.end();
  });
  await new Promise((done) => { server.listen(0, "127.0.0.1", done); });
  // It is no reason to go on when all else is done.
  server.unref();
  return { asked, address: `http://127.0.0.1:${server.address().port}` };
}

/** Runs in the page: everything in it that is not ours, and not the little that Markdown becomes. */
function looked() {
  const MARKDOWN = new Map(Object.entries({
    p: [], br: [], hr: [], em: [], strong: [], del: [], code: [], pre: ["class", "tabindex"], blockquote: [], ul: [], ol: ["start"], li: [],
    a: ["href", "rel", "title"], h4: [], h5: [], h6: [], table: ["tabindex"], thead: [], tbody: [], tr: [], th: [], td: [],
  }));
  const NOWHERE = [
    "iframe", "frame", "frameset", "object", "embed", "applet", "base", "img", "image", "picture", "source", "video", "audio", "track",
    "canvas", "math", "style", "template", "noscript", "marquee", "portal", "xmp", "plaintext", "listing", "foreignobject", "animate",
    "set", "use", "slot", "map", "area", "fencedframe",
  ];
  const ADDRESSES = ["href", "src", "action", "formaction", "xlink:href", "srcset", "data", "poster", "background", "ping", "srcdoc"];
  const found = [];
  const tell = (what, element) => found.push(`${what}: ${element.outerHTML.slice(0, 200)}`);
  if ("hacked" in window) { found.push("a script of a message ran"); }
  for (const element of document.querySelectorAll("*")) {
    const kind = element.localName.toLowerCase();
    if (NOWHERE.includes(kind)) { tell("an element that no page has", element); }
    if (kind === "script" && !/^\/assets\/[0-9a-f]+\/page\.js$/.test(element.getAttribute("src"))) { tell("a script", element); }
    if (kind === "link" && !["icon", "stylesheet"].includes(element.rel)) { tell("a link", element); }
    if (kind === "meta" && element.httpEquiv) { tell("a header", element); }
    if (kind === "svg" && !element.matches(".brand svg, .spark, .map, .bar")) { tell("a picture", element); }
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name) || name === "style") { tell(`the attribute ${name}`, element); }
      if (ADDRESSES.includes(name) && !/^(https?:\/\/|mailto:|\/(?!\/)|#)/.test(value)) { tell("an address", element); }
      if (["action", "formaction", "src"].includes(name) && !value.startsWith("/")) { tell("an address that leads away", element); }
    }
  }
  for (const element of document.querySelectorAll(".message > .text *")) {
    if (element.closest("p.soft.small") && element.closest("p.soft.small").parentElement.matches(".text")) { continue; }
    const attributes = MARKDOWN.get(element.localName);
    if (!attributes) { tell("an element in a message", element); continue; }
    const odd = element.getAttributeNames().find((name) => !attributes.includes(name));
    if (odd) { tell(`the attribute ${odd} in a message`, element); }
    const away = element.localName === "a" && element.hasAttribute("href");
    if (away && !/^(https?|mailto):/.test(element.getAttribute("href"))) { tell("a link in a message", element); }
    if (away && !element.rel.includes("noopener")) { tell("a link that tells on its reader", element); }
  }
  for (const element of document.querySelectorAll("bdi *, .tag > *, option *, title *")) {
    if (!element.matches("mark, time")) { tell("an element in a line of text", element); }
  }
  return found;
}

/** Fails if there is anything in the page that a message put there. */
export async function checkHarmless(page, where) {
  assert.deepEqual(await page.evaluate(looked), [], where);
}

/** A text as it may be compared: without spaces, and without what turns, hides or controls. */
export const visible = (text) => text.replace(/[\s\p{Cc}\p{Cf}\u2028\u2029\ufffd\ufeff\u115f]/gu, "");
