import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { RunFault } from "../../../schema/run_control.ts";
import { FaultWords, faultReason } from "../environment.tsx";
import type { SayLesson } from "./say.ts";

interface FaultTextProps {
  readonly fault: RunFault;
  /** What could not be done. */
  readonly lead?: string;
  readonly say: SayLesson;
}

/** What went wrong, and what to do. */
export function FaultText({ fault, lead = "", say }: FaultTextProps): JSX.Element {
  const reason = faultReason(fault.code);
  const told = reason === null ? "" : say.page(reason);
  const words = `${lead} ${told}`.trim();
  return (
    <div class="ls-wrong" role="alert">
      {words !== "" && <p>{words}</p>}
      <FaultWords fault={fault} say={say.page} />
    </div>
  );
}
