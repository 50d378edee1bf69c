// Keeps one Chromium and has promises of the page looked at in it, as many at once as are asked for.
//
//     node driver.mjs PACKAGES
//
// Each line of standard input asks for one promise: {"id", "script", "promise", "server"}. Each is answered by a line
// of standard output: {"id"} if it holds, {"id", "broken"} with what is wrong if it does not. At the end of the input the
// browser is closed.

import { createInterface } from "node:readline";

import { launch, packagesOf } from "./chromium.mjs";
import { Office } from "./office.mjs";
import { Watch } from "./watch.mjs";

const packages = packagesOf(process.argv[2]);
const browser = await launch(process.argv[2]);

async function look({ script, promise, server }) {
  const keep = (await import(`./${script}.mjs`))[promise];
  if (!keep) { throw new Error(`there is no ${promise} in ${script}.mjs`); }
  const office = new Office(server);
  const watch = new Watch(browser, office.origin);
  try {
    await keep({ office, watch, packages, open: (path, options) => watch.open(path, options) });
    watch.check();
  } catch (broken) {
    // What went wrong on the page often says why a promise does not hold.
    broken.message += watch.told();
    throw broken;
  } finally {
    await Promise.all([watch.close(), office.close()]);
  }
}

const asked = [];
for await (const line of createInterface({ input: process.stdin })) {
  const ask = JSON.parse(line);
  const say = (answer) => process.stdout.write(`${JSON.stringify({ id: ask.id, ...answer })}\n`);
  asked.push(look(ask).then(() => say({}), (broken) => say({ broken: `${broken.stack ?? broken}` })));
}
await Promise.allSettled(asked);
await browser.close();
