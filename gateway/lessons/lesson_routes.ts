/** What a lesson's page asks of the run it started. */
import { type Gateway, queryOf } from "../context.ts";
import { DetailError } from "../http/errors.ts";
import type { Routes } from "../http/routes.ts";
import { queryInteger } from "../http/validation.ts";
import { lessonGroups } from "./groups.ts";

export function addLessonRoutes(routes: Routes, gateway: Gateway): void {
  routes.add(
    "GET",
    "/lesson/api/groups",
    "Trained groups with the text of every token; ?updates=N the first N",
    async (c) => {
      await gateway.requireAdmin(c);
      const { model } = gateway.deps;
      if (model === null) throw new DetailError(404, "No model is served here, so its tokens have no text");
      const updates = queryInteger(queryOf(c), "updates", Number.MAX_SAFE_INTEGER);
      const { codec, tokenText } = model;
      const groups = await lessonGroups(
        gateway.store,
        { stopIds: codec.stopIds, tokenText, encodeText: (text, continues) => codec.encodeText(text, continues) },
        updates,
      );
      return Response.json(groups);
    },
  );
}
