import { asLeydenError } from "../../../src/core/errors.ts";
import { type ControlRequest, controlRequestSchema, type RunControl } from "../../../src/schema/run_control.ts";
import { readJson } from "../../http/body.ts";
import { DetailError } from "../../http/errors.ts";
import type { Routes } from "../../http/routes.ts";
import { validated } from "../../http/validation.ts";
import type { Studio } from "../studio.ts";

function obey(control: RunControl, request: ControlRequest): Promise<void> {
  if (request.action !== "start") return control[request.action]();
  if (control.start === undefined) throw new DetailError(409, "This run was started by a command; it starts no other");
  const { action: _, ...start } = request;
  return control.start(start);
}

/** What was refused, in the words of whoever refused it. */
function refusal(thrown: unknown): Response {
  const error = asLeydenError(thrown);
  if (error instanceof DetailError) throw error;
  const status = error.code === "run_phase" ? 409 : (statusByExit[error.exitCode] ?? 500);
  return Response.json({ error: error.toJSON() }, { status });
}

/** By what the error would end a command with. */
const statusByExit: Readonly<Record<number, number>> = { 2: 409, 3: 503, 4: 400 };

export function addControlRoute(routes: Routes, studio: Studio): void {
  const { gateway } = studio;
  routes.add("POST", "/studio/api/control", "Starts, pauses, steps or stops the run", async (c) => {
    await gateway.requireAdmin(c);
    const { control } = gateway.deps;
    if (control === undefined) throw new DetailError(409, "Nobody steers this run");
    const request = validated(controlRequestSchema, await readJson(c.req.raw, gateway.config.limits.bodyBytes));
    try {
      await obey(control, request);
    } catch (thrown) {
      return refusal(thrown);
    }
    return Response.json(control.status());
  });
}
