import { singleFileName } from "../app/page_build/names.ts";
import { builtPageFolder } from "../app/page_build/page_folder.ts";
import type { Command, CommandContext } from "./command.ts";
import { requireEmptyFolder } from "./target_folder.ts";

/** What is in the built folder for programs, and of no use to a static host. */
const ownFiles = ["built.txt", "initial.json"];

/** `leyden page`: writes the page for static hosts, and as one file. */
export const command: Command = {
  name: "page",
  summary: "Writes the page that trains in a browser tab: a folder for any HTTPS host, with leyden.html, one file.",
  positionals: { usage: "OUT", min: 1, max: 1 },
  options: {},
  run: writePage,
};

async function writePage({ args, platform, json, print, printJson }: CommandContext): Promise<number> {
  const { files } = platform;
  const out = files.absolute(args.positionals[0] as string);
  await requireEmptyFolder(files, out, false, "Name a new folder.");
  await files.copy(await builtPageFolder(platform), out);
  for (const name of ownFiles) await files.remove(files.join(out, name));
  const single = files.join(out, singleFileName);
  const singleBytes = await files.size(single);
  if (json) printJson({ folder: out, single, single_bytes: singleBytes });
  else {
    print(`Wrote ${out}: put it on any HTTPS host.`);
    print(`${single} (${(singleBytes / 1e6).toFixed(1)} MB) is the whole page in one file and opens from a disk.`);
  }
  return 0;
}
