// Starts Debian's Chromium, steered through playwright-core. Nothing here knows what a page of ours looks like.

import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join, resolve } from "node:path";

// No name but that of this machine leads anywhere, so that nothing a page asks for can leave it.
const ARGUMENTS = [
  "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", "--font-render-hinting=none", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** What `npm` has installed in a folder. */
export const packagesOf = (folder) => createRequire(resolve(folder, "anchor.js"));

/** A Chromium with a fresh profile, without a window. */
export async function launch(folder) {
  const { chromium } = packagesOf(folder)("playwright-core");
  return chromium.launch({ executablePath: found("chromium"), chromiumSandbox: false, args: ARGUMENTS });
}

/** Where a program is that the search path leads to. */
function found(program) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return join(folder, program);
    } catch { /* It is in another folder. */ }
  }
  throw new Error(`there is no ${program} on the search path`);
}
