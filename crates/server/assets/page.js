// What a page does beyond being read: it looks again when something happened, counts time on, and listens to keys.
// Everything works without it.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector, root = document) => root.querySelector(selector);

// Live: the server says only that something changed; the page fetches itself anew and takes over the parts that are
// marked. What a person is typing in is left alone.
const live = one(".live");
let fetching = false;
let again = false;

async function lookAgain() {
  if (fetching) { again = true; return; }
  fetching = true;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" });
    if (answer.redirected && new URL(answer.url).pathname === "/login") { location.reload(); return; }
    if (answer.ok) { takeOver(new DOMParser().parseFromString(await answer.text(), "text/html")); }
  } catch { /* The server is away; the stream says when it is back. */ }
  fetching = false;
  if (again) { again = false; setTimeout(lookAgain, 400); }
}

// What an element says, without times, which go on by themselves, and without the word that forms carry.
function bare(element) {
  const copy = element.cloneNode(true);
  for (const time of all("time", copy)) { time.textContent = ""; }
  for (const field of all("input[name=form], input[name=key]", copy)) { field.removeAttribute("value"); }
  for (const row of [copy, ...all(".at, .new", copy)]) { row.classList.remove("at", "new"); if (!row.className) { row.removeAttribute("class"); } }
  for (const details of all("details", copy)) { details.open = false; }
  return copy.outerHTML;
}

function takeOver(fresh) {
  let news = 0;
  // Whoever has scrolled keeps before the eyes what is there.
  const anchor = scrollY > 0 ? all("[data-key]").find((row) => row.getBoundingClientRect().bottom > 0) : null;
  const before = anchor?.getBoundingClientRect().top;
  for (const part of all("[data-live]")) {
    const next = fresh.getElementById(part.id);
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    if (!next || focused && /^(INPUT|TEXTAREA|SELECT)$/.test(focused.tagName) || bare(next) === bare(part)) { continue; }
    const known = new Map(all("[data-key]", part).map((row) => [row.dataset.key, row]));
    const open = new Set(all("details[open][id]", part).map((details) => details.id));
    const at = one(".at", part)?.dataset.key;
    for (const row of all("[data-key]", next)) {
      const old = known.get(row.dataset.key);
      if (old && bare(old) === bare(row)) { row.replaceWith(old); continue; }
      if (known.size > 0 && !old) { row.classList.add("new"); news += 1; }
      if (row.dataset.key === at) { row.classList.add("at"); }
    }
    part.replaceChildren(...next.childNodes);
    for (const details of all("details[id]", part)) { if (open.has(details.id)) { details.open = true; } }
    if (focused) { (focused.isConnected ? focused : one(".at a", part))?.focus({ preventScroll: true }); }
  }
  const after = anchor && one(`[data-key="${CSS.escape(anchor.dataset.key)}"]`)?.getBoundingClientRect().top;
  if (after !== undefined && after !== null && after !== before) { scrollBy(0, after - before); }
  countOn();
  const said = one("#news");
  if (news > 0 && said) { said.textContent = news === 1 ? "1 new entry" : news + " new entries"; }
}

// One stream for each page that is seen: a browser has only so many connections to one server.
if (live && window.EventSource && one("[data-live]") && !one("[data-still]")) {
  let stream = null;
  let wait = 0;
  let pause = 1000;
  const soon = () => { clearTimeout(wait); wait = setTimeout(lookAgain, 60); };
  const say = (on) => { live.classList.toggle("on", on); live.textContent = on ? "live" : "not connected"; };
  const listen = () => {
    if (stream || document.hidden) { return; }
    stream = new EventSource("/live");
    // What happened before it was there is seen by a look.
    stream.onopen = () => { say(true); pause = 1000; soon(); };
    stream.onerror = () => {
      say(false);
      if (stream?.readyState !== EventSource.CLOSED) { return; }
      stream = null;
      setTimeout(listen, pause);
      pause = Math.min(30000, pause * 2);
    };
    stream.addEventListener("changed", soon);
  };
  const stop = () => { stream?.close(); stream = null; };
  document.addEventListener("visibilitychange", () => { if (document.hidden) { stop(); } else { listen(); } });
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) { location.reload(); } });
  listen();
  // Who has fallen silent is told by time alone.
  setInterval(() => { if (!document.hidden) { lookAgain(); } }, 60000);
}

// Time: how long ago, and how long until.
function spoken(seconds) {
  if (seconds < 60) { return Math.floor(seconds) + " s"; }
  if (seconds < 3600) { return Math.floor(seconds / 60) + " min"; }
  if (seconds < 86400) { return Math.floor(seconds / 3600) + " h"; }
  return Math.floor(seconds / 86400) + " d";
}
function countOn() {
  const now = Date.now();
  for (const time of all("time[data-ago]")) {
    const seconds = (now - Date.parse(time.dateTime)) / 1000;
    time.textContent = seconds < 5 ? "just now" : spoken(seconds) + " ago";
  }
  for (const time of all("time[data-until]")) {
    const seconds = (Date.parse(time.dateTime) - now) / 1000;
    const minutes = Math.floor(seconds / 60);
    time.textContent = seconds <= 0 ? "over" : seconds < 3600
      ? minutes + ":" + String(Math.floor(seconds % 60)).padStart(2, "0") + " left" : spoken(seconds) + " left";
  }
}
setInterval(countOn, 1000);
countOn();

// Filters act when they are changed; without this there is a button.
for (const form of all("form[data-auto]")) {
  form.addEventListener("change", () => form.requestSubmit());
  for (const button of all("button.go", form)) { button.hidden = true; }
}
// Forms come and go with what is live. One that asks first asks; a message is sent once, however often the button is pressed.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.ask && !confirm(form.dataset.ask)) { event.preventDefault(); return; }
  if (form.method !== "post") { return; }
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
});
addEventListener("pageshow", () => { for (const form of all("form[data-sent]")) { delete form.dataset.sent; } });

// Keys.
const keys = one("#keys");
function step(by) {
  const rows = all("[data-key]");
  if (rows.length === 0) { return; }
  const at = rows.findIndex((row) => row.classList.contains("at"));
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
  for (const row of rows) { row.classList.toggle("at", row === rows[next]); }
  rows[next].scrollIntoView({ block: "nearest" });
  one("a", rows[next])?.focus({ preventScroll: true });
}
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) { return; }
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (typing) {
    if (event.key === "Escape") { event.target.blur(); }
    return;
  }
  const go = (selector) => { const link = one(selector); if (link) { event.preventDefault(); link.click(); } };
  switch (event.key) {
    case "j": step(1); break;
    case "k": step(-1); break;
    case "Enter": if (document.activeElement === document.body) { go(".at a"); } break;
    case "/": {
      const box = one("input[type=search]");
      event.preventDefault();
      if (box) { box.focus(); box.select(); } else { location.href = one("[data-search]").href; }
      break;
    }
    case "c": go("[data-compose]"); break;
    case "r": { const box = one("#reply-text"); if (box) { event.preventDefault(); box.focus(); } break; }
    case "u": go("[data-up]"); break;
    case "?": if (keys) { event.preventDefault(); keys.open ? keys.close() : keys.showModal(); } break;
  }
});
for (const button of all("[data-keys]")) { button.addEventListener("click", () => keys?.showModal()); }
