#!/usr/bin/env node
// Everything else is imported after this check, because an older runtime cannot load it.
import "../platform/runtime_floor.mjs";

const { platform } = await ("Deno" in globalThis ? import("../platform/deno.ts") : import("../platform/node.ts"));
const { runCommandLine } = await import("./run.ts");
const { commands } = await import("./commands.ts");

// Dawn keeps the event loop alive, so the end is explicit.
platform.terminal.exit(await runCommandLine(platform, commands));
