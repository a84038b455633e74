/**
 * A learner's way through every lesson in both languages: by visible text and roles alone, with answers read off the
 * page.
 */
import { mkdirSync } from "node:fs";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commonTexts, lessons, type PublishedLesson } from "../../examples/lessons/lessons.ts";
import { filledTexts } from "../../src/app/lesson/filled_texts.ts";
import { type Exercise, type LessonLanguage, lessonLanguages } from "../../src/schema/lesson.ts";
import { complaintsOf, launchChromium } from "./support/chromium.ts";
import { type PageSite, servePage } from "./support/page_site.ts";

const locales: Readonly<Record<LessonLanguage, string>> = { en: "en-US", ko: "ko-KR" };
/** A run on a software adapter, others at work beside it. */
const runMs = 240_000;
/** Where screenshots go; none are taken without. */
const shots = process.env.LEYDEN_SCREENSHOTS ?? "";

let site: PageSite;
let browser: Browser;

beforeAll(async () => {
  site = await servePage();
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await site?.close();
});

/** Marks of emphasis and code are not shown. */
const visible = (text: string): string => text.replace(/[`*]/g, "");

/** A table's cells below its head, found by its caption. */
async function cells(page: Page, caption: string): Promise<string[][]> {
  const table = page.getByRole("table", { name: visible(caption) });
  const rows = await table.getByRole("row").all();
  const texts = rows.slice(1).map(async (row) => row.locator("th, td").allInnerTexts());
  return (await Promise.all(texts)).map((row) => row.map((cell) => cell.trim()));
}

/** Answers the exercises that ask for a number as people would: from what the page shows. */
class Reader {
  private readonly page: Page;
  private readonly say: (key: string) => string;

  constructor(page: Page, say: (key: string) => string) {
    this.page = page;
    this.say = say;
  }

  /** The number in the first table, by its row and its run's column. */
  private async observed(key: string, column = 1): Promise<number> {
    const rows = await cells(this.page, this.say("numbers"));
    return Number(rows.find(([name]) => name === visible(this.say(key)))?.[column]);
  }

  private table(key: string): Promise<string[][]> {
    return cells(this.page, this.say(key));
  }

  async number(id: string, key: string): Promise<string> {
    const rollouts = 8;
    switch (`${id} ${key}`) {
      case "01-policy paidFirst":
        return String(Math.round(rollouts * (await this.observed("rewardFirst"))));
      case "01-policy lastReward":
        return (await this.observed("rewardLast")).toFixed(2);
      case "02-tokens countDrift":
        return String(await this.observed("driftCount"));
      case "03-samples countBranches":
        return String((await this.table("callTable")).filter(([, continues]) => continues === "–").length);
      case "03-samples countRows": {
        const rows = await this.table("callTable");
        return String(rows.filter(([, continues], i) => i === 0 || continues !== rows[i - 1]?.[0]).length);
      }
      case "04-advantage massMixed": {
        const ways = await this.table("wayTable");
        return String(ways.find(([level, averaged]) => level === "rollout" && averaged === "token")?.[2]);
      }
      case "04-advantage baselineRollouts":
      case "04-advantage baselineSamples": {
        const group = (await this.table("groupTable")).map(([, calls, reward]) => ({
          weight: key === "baselineSamples" ? Number(calls) : 1,
          reward: Number(reward),
        }));
        const whole = group.reduce((n, { weight }) => n + weight, 0);
        return (group.reduce((n, { weight, reward }) => n + weight * reward, 0) / whole).toFixed(2);
      }
      case "05-normalisation massPerToken":
        return String((await this.table("weightTable")).find(([mode]) => mode === "token-mean")?.[2]);
      case "06-staleness oldestNumber":
        return String((await this.table("ageTable")).at(-1)?.[0]);
      case "07-schedule idleSync":
        return String(await this.observed("idleShare"));
      case "08-hacking gap":
        return ((await this.observed("paidLast")) - (await this.observed("rightLast"))).toFixed(2);
      default:
        throw new Error(`Nobody has told how to answer ${id} ${key}.`);
    }
  }
}

async function answer(form: Locator, exercise: Exercise, text: string, say: (key: string) => string): Promise<void> {
  if (exercise.kind === "choice") {
    await form.getByRole("radio", { name: visible(say(text)), exact: true }).check();
    await form.getByRole("button", { name: say("check") }).click();
  } else if (exercise.kind === "number") {
    await form.getByRole("textbox").fill(text);
    await form.getByRole("button", { name: say("check") }).click();
  } else {
    await form.getByRole("textbox").fill(text);
    await form.getByRole("button", { name: say("runWithThis") }).click();
  }
}

/** The form that an exercise stands in, found by its question. */
function formOf(page: Page, question: string): Locator {
  const group = page.getByRole("group", { name: visible(question) });
  return page.locator("form").filter({ has: group });
}

async function goThrough(page: Page, { lesson, texts }: PublishedLesson, language: LessonLanguage): Promise<void> {
  const own = filledTexts(lesson, texts[language], true);
  const say = (key: string): string => own[key] ?? commonTexts[language][key] ?? key;
  await page.goto(`${site.url}#lesson`);
  await page.getByRole("link", { name: say("title"), exact: true }).click();
  await page.getByRole("heading", { level: 1, name: `${lesson.number}. ${say("title")}` }).waitFor();
  await page.getByRole("checkbox", { name: say("tiny") }).check();
  // What the texts say of the runs is true of the tiny ones.
  for (const part of lesson.parts)
    await page
      .getByText(visible(say(part)).slice(-40))
      .first()
      .waitFor();
  for (const { key } of lesson.experiments) {
    const item = page
      .getByRole("listitem")
      .filter({ hasText: `${say("runThis")} ${say(key)}` })
      .first();
    await item.getByRole("button").click();
    await item.getByText(say("finished"), { exact: true }).waitFor({ timeout: runMs });
  }
  const reader = new Reader(page, say);
  for (const exercise of lesson.exercises) {
    const { key, kind } = exercise;
    const form = formOf(page, say(key));
    const right = kind === "number" ? await reader.number(lesson.id, key) : exercise.solution({});
    if (kind === "number") {
      await answer(form, exercise, String(Number(right) + 3), say);
      await form.getByRole("status").getByText(say("notYet")).waitFor();
    }
    await answer(form, exercise, right, say);
    await form.getByRole("status").getByText(say("right"), { exact: true }).waitFor({ timeout: runMs });
    await form
      .getByRole("status")
      .getByText(visible(say(`${key}Right`)).slice(0, 30))
      .waitFor();
  }
  await page.getByText(`${lesson.exercises.length} / ${lesson.exercises.length}`).waitFor();
}

describe.each(lessons)("lesson $lesson.id", (published) => {
  // Both languages at once: while the agents of one wait, the other computes.
  it.concurrent.each(lessonLanguages)("can be completed in %s", { timeout: 900_000 }, async (language) => {
    const context = await browser.newContext({ locale: locales[language], viewport: { width: 1100, height: 900 } });
    const page = await context.newPage();
    const problems = complaintsOf(context);
    try {
      await goThrough(page, published, language);
    } catch (thrown) {
      const seen = await page
        .getByRole("main")
        .textContent()
        .catch(() => null);
      throw new Error(`${thrown}\nProblems: ${problems.join("; ")}\nThe page said:\n${seen?.slice(0, 3000)}`);
    } finally {
      if (shots !== "") {
        mkdirSync(shots, { recursive: true });
        await page.screenshot({ path: `${shots}/lesson-${published.lesson.id}-${language}.png`, fullPage: true });
      }
      await context.close();
    }
    expect(problems).toEqual([]);
  });
});
