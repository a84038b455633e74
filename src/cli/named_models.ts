import type { ServedModel } from "../../gateway/deps.ts";
import type { HostPlatform } from "../schema/platform.ts";
import { UsageError } from "./args.ts";

/** Options of the form NAME=VALUE, by name. @throws UsageError for one without either, or a name given twice */
export function namedValues(option: string, given: readonly string[]): Record<string, string> {
  const pairs = given.map((one): [string, string] => {
    const at = one.indexOf("=");
    if (at > 0 && at < one.length - 1) return [one.slice(0, at), one.slice(at + 1)];
    throw new UsageError(`--${option} ${one} does not name anything.`, { do: `Write it as --${option} NAME=VALUE.` });
  });
  const names = pairs.map(([name]) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return Object.fromEntries(pairs);
  throw new UsageError(`--${option} names "${twice}" twice.`, { do: "Give each name once." });
}

/** Opens the models of folders, each in an engine of its own. @throws LeydenError when one cannot be used */
export async function openNamedModels(
  platform: HostPlatform,
  folders: Readonly<Record<string, string>>,
): Promise<Record<string, ServedModel>> {
  const opened: Record<string, ServedModel> = {};
  if (Object.keys(folders).length === 0) return opened;
  const { openServedModel } = await import("../app/open_served_model.ts");
  for (const [name, folder] of Object.entries(folders)) opened[name] = await openServedModel(platform, folder);
  return opened;
}
