import { describe, expect, it } from "vitest";
import { parseAptSources, parseOsRelease, planDriverSetup, type SetupFacts } from "../../src/cli/driver_setup.ts";

const bookworm =
  'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n';
const ubuntu = 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n';

function plan(facts: Partial<SetupFacts>) {
  return planDriverSetup({ os: "linux", isRoot: true, osRelease: bookworm, aptSources: [], ...facts });
}

const texts = (facts: Partial<SetupFacts>) => plan(facts).commands.map(({ text }) => text);

const install = "apt-get install -y --no-install-recommends -t bookworm-backports mesa-vulkan-drivers libvulkan1";

describe("apt sources", () => {
  it("are read in the one-line format", () => {
    const text = [
      "# deb http://old.example/debian bookworm main",
      "deb http://mirror.example/debian bookworm main contrib",
      "deb [signed-by=/k.gpg arch=amd64] https://two.example/debian bookworm-updates main",
      "deb-src http://mirror.example/debian sid main",
    ].join("\n");
    expect(parseAptSources(text)).toEqual([
      { uri: "http://mirror.example/debian", suite: "bookworm", options: "" },
      { uri: "https://two.example/debian", suite: "bookworm-updates", options: "[signed-by=/k.gpg arch=amd64]" },
    ]);
  });

  it("are read as stanzas", () => {
    const text = [
      "Types: deb",
      "# the mirror",
      "URIs: http://mirror.example/debian",
      "Suites: bookworm bookworm-updates",
      "Components: main",
      "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg",
      "",
      "Types: deb",
      "URIs: http://off.example/debian",
      "Suites: bookworm-backports",
      "Components: main",
      "Enabled: no",
    ].join("\n");
    const options = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]";
    expect(parseAptSources(text)).toEqual([
      { uri: "http://mirror.example/debian", suite: "bookworm", options },
      { uri: "http://mirror.example/debian", suite: "bookworm-updates", options },
    ]);
  });
});

describe("os-release", () => {
  it("is read with every kind of quotes", () => {
    expect(parseOsRelease("A=1\nB=\"two words\"\nC='x'\n# D=4\nE=\n")).toEqual({
      A: "1",
      B: "two words",
      C: "x",
      E: "",
    });
  });
});

describe("driver setup on Debian 12", () => {
  it("adds backports from the mirror in use, then installs from it", () => {
    const facts = { aptSources: ["deb http://mirror.example/debian bookworm main"] };
    const add =
      "echo 'deb http://mirror.example/debian bookworm-backports main' | tee /etc/apt/sources.list.d/leyden_backports.list";
    expect(texts(facts)).toEqual([add, "apt-get update", install]);
    const { canRun, commands } = plan(facts);
    expect(canRun).toBe(true);
    expect(commands[0]).toMatchObject({
      command: "sh",
      args: ["-c", add],
      adds: "/etc/apt/sources.list.d/leyden_backports.list",
    });
    expect(commands[2]?.args).toEqual(
      `DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 ${install.slice("apt-get ".length)}`.split(
        " ",
      ),
    );
  });

  it("keeps the mirror's signature options", () => {
    const source = "URIs: http://mirror.example/debian\nSuites: bookworm\nSigned-By: /k.gpg\n";
    expect(texts({ aptSources: ["", source] })[0]).toContain(
      "'deb [signed-by=/k.gpg] http://mirror.example/debian bookworm-backports main'",
    );
  });

  it("uses backports that are there", () => {
    const sources = "deb http://a.example/debian bookworm main\ndeb http://a.example/debian bookworm-backports main";
    expect(texts({ aptSources: [sources] })).toEqual(["apt-get update", install]);
  });

  it("only prints commands, with sudo, for others than root", () => {
    const { commands, canRun, advice } = plan({
      isRoot: false,
      aptSources: ["deb http://mirror.example/debian bookworm main"],
    });
    expect(canRun).toBe(false);
    expect(advice).toBe("Run them as root.");
    expect(commands.map(({ text }) => text)).toEqual([
      "echo 'deb http://mirror.example/debian bookworm-backports main' | sudo tee /etc/apt/sources.list.d/leyden_backports.list",
      "sudo apt-get update",
      `sudo ${install}`,
    ]);
  });

  it("does not invent a mirror", () => {
    const { commands, canRun, advice } = plan({
      aptSources: ["deb http://x.example/debian-security bookworm-security main"],
    });
    expect([commands, canRun]).toEqual([[], false]);
    expect(advice).toMatch(/^Add Debian's bookworm-backports to apt's sources, then: apt-get install -t/);
  });
});

describe("driver setup elsewhere", () => {
  it("installs Ubuntu's and newer Debian's own driver", () => {
    const own = ["apt-get update", "apt-get install -y --no-install-recommends mesa-vulkan-drivers libvulkan1"];
    expect(texts({ osRelease: ubuntu })).toEqual(own);
    expect(texts({ osRelease: 'ID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie\n' })).toEqual(own);
    expect(texts({ osRelease: "ID=debian\n" })).toEqual(own);
    expect(plan({ osRelease: ubuntu }).canRun).toBe(true);
  });

  it("says that an older Debian has none", () => {
    const { commands, advice } = plan({ osRelease: 'ID=debian\nVERSION_ID="11"\nVERSION_CODENAME=bullseye\n' });
    expect(commands).toEqual([]);
    expect(advice).toBe("Debian 11 has no driver new enough; upgrade to Debian 12 or later.");
  });

  it.each([
    ["ID=fedora\n", "dnf install -y mesa-vulkan-drivers vulkan-loader"],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install -y mesa-vulkan-drivers vulkan-loader"],
    ["ID=arch\n", "pacman -S --noconfirm vulkan-swrast vulkan-icd-loader"],
    ["ID=alpine\n", "apk add mesa-vulkan-swrast vulkan-loader"],
    ['ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', "zypper install -y libvulkan_lvp libvulkan1"],
  ])("names the command of another distribution, and leaves it to the user: %j", (osRelease, text) => {
    expect(plan({ osRelease })).toMatchObject({ canRun: false, commands: [{ text }] });
    expect(texts({ osRelease, isRoot: false })).toEqual([`sudo ${text}`]);
  });

  it("has a word for every other system", () => {
    expect(plan({ osRelease: "" }).advice).toMatch(/^Install a Vulkan driver/);
    expect(plan({ os: "win32" })).toMatchObject({
      commands: [],
      advice: expect.stringMatching(/^Windows needs nothing/),
    });
    expect(plan({ os: "darwin" })).toMatchObject({
      commands: [],
      advice: expect.stringMatching(/^macOS needs nothing/),
    });
    expect(plan({ os: "other" }).advice).toBe("Leyden runs on Linux, macOS and Windows.");
  });
});
