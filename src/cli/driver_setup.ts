/** Which commands give a machine a Vulkan driver that computes on the processor. Pure: facts in, commands out. */

/** What the choice depends on. */
export interface SetupFacts {
  os: "linux" | "darwin" | "win32" | "other";
  isRoot: boolean;
  /** Text of /etc/os-release; "" when there is none. */
  osRelease: string;
  /** Texts of apt's source lists: the one-line format and the stanzas of .sources files. */
  aptSources: readonly string[];
}

/** One command to run, and how a person would type it. */
export interface SetupCommand {
  command: string;
  args: readonly string[];
  text: string;
  /** File this command adds, to be removed again when a later command fails. */
  adds?: string;
}

/** The commands (none where there is nothing to install), whether we may run them ourselves, and a word to the user. */
export interface SetupPlan {
  commands: readonly SetupCommand[];
  canRun: boolean;
  advice: string;
}

const backportsFile = "/etc/apt/sources.list.d/leyden_backports.list";
const packages = ["mesa-vulkan-drivers", "libvulkan1"] as const;

/** Other distributions: the command alone, for the user to run. */
const otherDistributions: readonly (readonly [ids: readonly string[], text: string])[] = [
  [["fedora", "rhel", "centos"], "dnf install -y mesa-vulkan-drivers vulkan-loader"],
  [["arch"], "pacman -S --noconfirm vulkan-swrast vulkan-icd-loader"],
  [["alpine"], "apk add mesa-vulkan-swrast vulkan-loader"],
  [["opensuse", "suse"], "zypper install -y libvulkan_lvp libvulkan1"],
];

/** Fields of /etc/os-release. */
export function parseOsRelease(text: string): Record<string, string> {
  const out: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const match = /^([A-Z_]+)=(?:"(.*)"|'(.*)'|(.*))$/.exec(line.trim());
    if (match?.[1] !== undefined) out[match[1]] = match[2] ?? match[3] ?? match[4] ?? "";
  }
  return out;
}

/** One place packages come from. */
export interface AptSource {
  uri: string;
  suite: string;
  /** Options of the one-line format, "[signed-by=…]", or "". */
  options: string;
}

function parseStanza(stanza: string): AptSource[] {
  const fields = new Map<string, string>();
  for (const line of stanza.split("\n")) {
    const match = /^([A-Za-z-]+):\s*(.*)$/.exec(line);
    if (match?.[1] !== undefined) fields.set(match[1].toLowerCase(), match[2] ?? "");
  }
  if (/^(no|false|0)$/i.test(fields.get("enabled") ?? "")) return [];
  const words = (name: string) => (fields.get(name) ?? "").split(/\s+/).filter((word) => word !== "");
  const signedBy = fields.get("signed-by") ?? "";
  const options = signedBy.startsWith("/") ? `[signed-by=${signedBy}]` : "";
  return words("uris").flatMap((uri) => words("suites").map((suite) => ({ uri, suite, options })));
}

/** The sources in a list file of either format. */
export function parseAptSources(text: string): AptSource[] {
  const live = text
    .split("\n")
    .filter((line) => !line.startsWith("#"))
    .join("\n");
  const stanzas = live.split(/\n\s*\n/).flatMap(parseStanza);
  const lines = [...live.matchAll(/^deb\s+(\[[^\]]*\]\s+)?(\S+)\s+(\S+)/gm)].map(
    ([, options = "", uri = "", suite = ""]) => {
      return { uri, suite, options: options.trim() };
    },
  );
  return [...stanzas, ...lines];
}

function aptGet(isRoot: boolean, args: readonly string[]): SetupCommand {
  // Another apt may be at work (a fresh cloud machine's first update): wait for it.
  const line = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300", ...args];
  return { command: "env", args: line.slice(1), text: `${isRoot ? "" : "sudo "}apt-get ${args.join(" ")}` };
}

function addBackports(isRoot: boolean, base: AptSource, suite: string): SetupCommand {
  const source = ["deb", base.options, base.uri, suite, "main"].filter((word) => word !== "").join(" ");
  const shell = `echo '${source}' | ${isRoot ? "" : "sudo "}tee ${backportsFile}`;
  return { command: "sh", args: ["-c", shell], text: shell, adds: backportsFile };
}

/** Debian 12's Mesa is 22.3.6, too old for Dawn; its backports have a newer one. */
function bookwormCommands(isRoot: boolean, sources: readonly AptSource[]): SetupCommand[] | null {
  const suite = "bookworm-backports";
  const install = aptGet(isRoot, ["install", "-y", "--no-install-recommends", "-t", suite, ...packages]);
  const update = aptGet(isRoot, ["update"]);
  if (sources.some((source) => source.suite === suite)) return [update, install];
  const base = sources.find((source) => source.suite === "bookworm");
  return base === undefined ? null : [addBackports(isRoot, base, suite), update, install];
}

function aptPlan(facts: SetupFacts, release: Record<string, string>): SetupPlan {
  const { isRoot } = facts;
  const by = isRoot ? "" : "Run them as root.";
  if (release.ID === "debian" && Number(release.VERSION_ID) < 12) {
    const advice = `Debian ${release.VERSION_ID} has no driver new enough; upgrade to Debian 12 or later.`;
    return { commands: [], canRun: false, advice };
  }
  if (release.ID === "debian" && release.VERSION_CODENAME === "bookworm") {
    const commands = bookwormCommands(isRoot, facts.aptSources.flatMap(parseAptSources));
    if (commands !== null) return { commands, canRun: isRoot, advice: by };
    const advice = `Add Debian's bookworm-backports to apt's sources, then: apt-get install -t bookworm-backports ${packages.join(" ")}`;
    return { commands: [], canRun: false, advice };
  }
  const install = aptGet(isRoot, ["install", "-y", "--no-install-recommends", ...packages]);
  return { commands: [aptGet(isRoot, ["update"]), install], canRun: isRoot, advice: by };
}

function linuxPlan(facts: SetupFacts): SetupPlan {
  const release = parseOsRelease(facts.osRelease);
  const ids = [release.ID ?? "", ...(release.ID_LIKE ?? "").split(/\s+/)];
  if (ids.includes("debian") || ids.includes("ubuntu")) return aptPlan(facts, release);
  const found = otherDistributions.find(([names]) => names.some((name) => ids.some((id) => id.startsWith(name))));
  if (found === undefined) {
    const advice = "Install a Vulkan driver: your GPU's, or Mesa 23 or later with lavapipe, and the Vulkan loader.";
    return { commands: [], canRun: false, advice };
  }
  const text = `${facts.isRoot ? "" : "sudo "}${found[1]}`;
  return {
    commands: [{ command: "sh", args: ["-c", text], text }],
    canRun: false,
    advice: "Run it, then leyden doctor.",
  };
}

/** What to do about a machine without a working adapter. */
export function planDriverSetup(facts: SetupFacts): SetupPlan {
  if (facts.os === "linux") return linuxPlan(facts);
  const advice = {
    win32:
      "Windows needs nothing installed: D3D12 has a software adapter. Update Windows and the graphics driver, and run in a desktop or service session of this machine, not in a container without one.",
    darwin: "macOS needs nothing installed: Metal is part of it. Use macOS 13 or later on a machine with a Metal GPU.",
    other: "Leyden runs on Linux, macOS and Windows.",
  }[facts.os];
  return { commands: [], canRun: false, advice };
}
