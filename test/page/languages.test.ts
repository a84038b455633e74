/**
 * What a page says before and beside a run, in both languages: why it cannot train, what there is to train and that it is
 * on its way, why it refused, what lessons and the studio say before the first run, and what teachers are told.
 */
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commonTexts, lessonMinutes, lessons, teacherTexts } from "../../examples/lessons/lessons.ts";
import { textsOf as studioTexts } from "../../gateway/studio/client/texts.ts";
import english from "../../src/app/page/texts.en.json" with { type: "json" };
import korean from "../../src/app/page/texts.ko.json" with { type: "json" };
import { textsOf } from "../../src/app/page/texts.ts";
import { complaintsOf, launchOptions } from "./support/chromium.ts";
import { type PageSite, servePage } from "./support/page_site.ts";

/** A name that the browser finds on loopback, and does not trust as it trusts loopback. */
const plainHost = "plain.invalid";
const languages = [
  { language: "en", locale: "en-US", texts: english },
  { language: "ko", locale: "ko-KR", texts: korean },
] as const;

let site: PageSite;
let browser: Awaited<ReturnType<typeof chromium.launch>>;

beforeAll(async () => {
  const args = [...(launchOptions.args ?? []), `--host-resolver-rules=MAP ${plainHost} 127.0.0.1`];
  [site, browser] = await Promise.all([servePage(), chromium.launch({ ...launchOptions, args })]);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

/** A page in a browser of a language, and what it complains of. */
async function pageIn(locale: string): Promise<{ page: Page; context: BrowserContext; complaints: string[] }> {
  const context = await browser.newContext({ locale });
  const complaints = complaintsOf(context);
  return { page: await context.newPage(), context, complaints };
}

/** Keeps back what the page asks of its worker about what may be started, until the returned function is called. */
async function holdChoices(page: Page): Promise<() => Promise<void>> {
  await page.addInitScript(() => {
    const send = MessagePort.prototype.postMessage as (this: MessagePort, ...sent: unknown[]) => void;
    const held: (() => void)[] = [];
    let isHeld = true;
    MessagePort.prototype.postMessage = function (this: MessagePort, ...sent: unknown[]) {
      const [asked] = sent as [{ request?: { url: string } }];
      if (isHeld && asked.request?.url.endsWith("/studio/api/choices")) held.push(() => send.apply(this, sent));
      else send.apply(this, sent);
    };
    Object.assign(globalThis, {
      letGo() {
        isHeld = false;
        for (const pass of held.splice(0)) pass();
      },
    });
  });
  return () => page.evaluate(() => (globalThis as { letGo?: () => void }).letGo?.());
}

describe.each(languages)("a page in $language", ({ language, locale, texts }) => {
  const say = textsOf(language);
  it("says that there is no device where WebGPU has no adapter, and opens after a retry that finds one", async () => {
    const { page, context, complaints } = await pageIn(locale);
    await page.addInitScript(() => {
      const real = navigator.gpu.requestAdapter.bind(navigator.gpu);
      let asked = 0;
      navigator.gpu.requestAdapter = async (options) => (asked++ === 0 ? null : await real(options));
    });
    await page.goto(site.url);
    const notice = page.getByRole("alert");
    await notice.getByRole("heading", { name: texts["env.noAdapter"] }).waitFor();
    await notice.getByText(texts["env.noAdapterWhy"]).waitFor();
    expect(await notice.getByRole("listitem").allTextContents()).toContain(texts["env.linux"]);
    await notice.getByText("no_adapter").waitFor();
    await notice.getByRole("button", { name: texts.retry }).click();
    await page.getByRole("heading", { level: 1, name: texts["run.title"] }).waitFor();
    await context.close();
    expect(complaints).toEqual([]);
  });

  it("says that plain http is why there is no WebGPU", async () => {
    const { page, context, complaints } = await pageIn(locale);
    await page.goto(site.url.replace("127.0.0.1", plainHost));
    expect(await page.evaluate(() => isSecureContext)).toBe(false);
    const notice = page.getByRole("alert");
    await notice.getByRole("heading", { name: texts["env.noWebgpu"] }).waitFor();
    await notice.getByText(texts["env.insecure"]).waitFor();
    await notice.getByText("insecure_page").waitFor();
    await context.close();
    expect(complaints).toEqual([]);
  });

  it("says that what it can train is on its way, until it is there", async () => {
    const { page, context, complaints } = await pageIn(locale);
    const letGo = await holdChoices(page);
    await page.goto(site.url);
    const loading = page.getByRole("status").filter({ hasText: texts["run.loading"] });
    await loading.waitFor();
    expect(await page.getByRole("heading").allTextContents()).toEqual([texts["run.title"]]);
    await letGo();
    await page.getByRole("button", { name: texts["run.start"], exact: true }).waitFor();
    await page.getByRole("heading", { name: texts["run.settings"] }).waitFor();
    expect(await loading.count()).toBe(0);
    await context.close();
    expect(complaints).toEqual([]);
  });

  it("has nothing red before the first run: the studio says where one is started, a lesson what an exercise lacks", async () => {
    const { page, context, complaints } = await pageIn(locale);
    const studio = studioTexts(language);
    await page.goto(`${site.url}#/rollouts`);
    await page.getByRole("heading", { name: studio("noRun.title") }).waitFor();
    await page
      .getByRole("status")
      .filter({ hasText: studio("noRun.start") })
      .waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    // One way to skip to the content, which leads beyond the studio's own places.
    expect(await page.getByText(texts.skip).count()).toBe(1);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain(studio("noRun.title"));
    await page.getByRole("link", { name: studio("noRun.go") }).click();
    await page.getByRole("heading", { level: 1, name: texts["run.title"] }).waitFor();
    const { chooseFirst = "", typeFirst = "", check = "", openStudio = "" } = commonTexts[language];
    await page.goto(`${site.url}#lesson/01-policy`);
    const [chosen, typed] = [page.locator("form").nth(0), page.locator("form").nth(1)];
    await chosen.getByRole("button", { name: check }).click();
    await chosen.getByRole("status").filter({ hasText: chooseFirst }).waitFor();
    await chosen.getByRole("radio").nth(1).check();
    await chosen.getByText(chooseFirst).waitFor({ state: "detached" });
    await typed.getByRole("button", { name: check }).click();
    await typed.getByRole("status").filter({ hasText: typeFirst }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.getAttribute("inputmode"))).toBe("decimal");
    // What the lesson asked of its gateway is answered by the time that the studio is.
    await page.getByRole("link", { name: openStudio }).click();
    await page.getByRole("heading", { name: studio("noRun.title") }).waitFor();
    await page.goBack();
    await chosen.waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await context.close();
    expect(complaints).toEqual([]);
  });

  it("names what it can train, and tells a refusal before the fault's own words", async () => {
    const { page, context } = await pageIn(locale);
    await page.goto(site.url);
    const experiments = page.getByRole("combobox", { name: new RegExp(`^${texts["run.experiment"]}`) });
    await experiments.waitFor();
    const named = await experiments.getByRole("option").allTextContents();
    expect(named).toContain(say("experiment.calc.title"));
    expect(named.every((name) => /[가-힣]/.test(name))).toBe(language === "ko");
    await page.getByText(say("experiment.calc.summary")).waitFor();
    await page.getByText(texts["run.more"]).click();
    await page.getByRole("textbox", { name: texts["run.overrides"] }).fill('{"train.noSuchSetting": 1}');
    await page.getByRole("button", { name: texts["run.start"], exact: true }).click();
    const notice = page.getByRole("alert");
    await notice.getByText(texts["fault.settings"]).waitFor();
    const details = notice.getByRole("group").filter({ hasText: texts["fault.details"] });
    // A setting to correct is named by the fault's own words alone.
    await details.getByText(/noSuchSetting/).waitFor();
    await details.getByText(texts["fault.details"]).click();
    await details.getByText(/noSuchSetting/).waitFor({ state: "hidden" });
    await context.close();
  });

  it("tells teachers how long each lesson takes, and what to prepare", async () => {
    const { page, context, complaints } = await pageIn(locale);
    const say = (key: string): string => teacherTexts[language][key] ?? key;
    await page.goto(`${site.url}#lesson/teacher`);
    await page.getByRole("heading", { level: 1, name: say("teacherTitle") }).waitFor();
    const headings = await page.getByRole("heading", { level: 2 }).allTextContents();
    const titles = ["planTitle", "placeTitle", "roomTitle2", "solutionsTitle", "lessonsTitle"];
    expect(headings).toEqual(titles.map(say));
    const times = lessons.map(
      ({ lesson, texts: own }) =>
        `${lesson.number}. ${own[language].title} · ${lessonMinutes[lesson.number]} ${say("minutes")}`,
    );
    expect(await page.getByRole("heading", { level: 3 }).allTextContents()).toEqual(times);
    await page.getByRole("link", { name: times[0]?.split(" · ")[0] ?? "", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: lessons[0]?.texts[language].title ?? "" }).waitFor();
    await context.close();
    expect(complaints).toEqual([]);
  });
});
