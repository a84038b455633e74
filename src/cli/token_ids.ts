import { UsageError } from "./args.ts";

/** Token ids as a command line writes them: "1,2,3", spaces allowed. @throws UsageError naming what is no id */
export function parseTokenIds(option: string, text: string): number[] {
  const parts = text.split(",").map((part) => part.trim());
  const wrong = parts.find((part) => !/^\d+$/.test(part) || Number(part) > 0x7fffffff);
  if (wrong === undefined) return parts.map(Number);
  throw new UsageError(`--${option} holds "${wrong}", which is no token id.`, {
    do: `Pass numbers with commas: --${option} 1,2,3.`,
  });
}
