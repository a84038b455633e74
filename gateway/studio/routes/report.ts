import type { PageFiles } from "../../../src/schema/page_files.ts";
import { queryOf } from "../../context.ts";
import { DetailError } from "../../http/errors.ts";
import type { Routes } from "../../http/routes.ts";
import { queryInteger } from "../../http/validation.ts";
import { type ReportParts, reportHtml } from "../report.ts";
import { studioSnapshot } from "../snapshot.ts";
import type { Studio } from "../studio.ts";

const defaultDetails = 100;
const mostDetails = 2000;

/** The studio's code and style from the built page. @throws DetailError 409 where no page is served */
async function reportParts(page: PageFiles | undefined): Promise<ReportParts> {
  const [script, style] = await Promise.all([page?.get("report.js"), page?.get("report.css")]);
  if (!script || !style) throw new DetailError(409, "No page is served that a report could be made of");
  const decoder = new TextDecoder();
  return { script: decoder.decode(script.bytes), style: decoder.decode(style.bytes) };
}

/** A file name without anything a header or a file system could take amiss. */
function fileName(run: string): string {
  return `${run.replaceAll(/[^\w.-]+/g, "_").slice(-80) || "run"}.html`;
}

export function addReportRoutes(routes: Routes, studio: Studio): void {
  const { gateway } = studio;
  const details = (query: URLSearchParams): number =>
    Math.min(mostDetails, Math.max(0, queryInteger(query, "rollouts", defaultDetails)));
  routes.add("GET", "/studio/api/snapshot", "The run as one value", async (c) => {
    await gateway.requireAdmin(c);
    return Response.json(await studioSnapshot(studio, details(queryOf(c))));
  });
  routes.add("GET", "/studio/api/report", "The run as one file to read anywhere", async (c) => {
    await gateway.requireAdmin(c);
    const parts = await reportParts(gateway.deps.page);
    const snapshot = await studioSnapshot(studio, details(queryOf(c)));
    const headers = {
      "content-type": "text/html; charset=utf-8",
      "content-disposition": `attachment; filename="${fileName(snapshot.run.name)}"`,
    };
    return new Response(reportHtml(snapshot, parts), { headers });
  });
}
