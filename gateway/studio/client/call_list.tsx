import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { StudioCallLine } from "../../../src/schema/studio_api.ts";
import { useStudio } from "./context.ts";
import { durationText, numberText } from "./format.ts";
import { goTo, hrefTo } from "./router.ts";
import type { Say } from "./texts.ts";

/** Words for why a call begins a new lineage. */
export function breakText(call: Pick<StudioCallLine, "break">, say: Say): string {
  return call.break === null ? "" : say(`break.${call.break}`);
}

/** The calls of a rollout in order; arrow keys go from one to the next. */
export function CallList({ calls, open }: { calls: readonly StudioCallLine[]; open: string }): JSX.Element {
  const { say } = useStudio();
  const list = useRef<HTMLOListElement>(null);
  const focusWanted = useRef(false);
  useEffect(() => {
    const item = list.current?.querySelector<HTMLElement>("[aria-current=true]");
    item?.scrollIntoView({ block: "nearest" });
    if (focusWanted.current) item?.focus({ preventScroll: true });
    focusWanted.current = false;
  }, [open, calls.length]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = calls.findIndex((call) => call.id === open);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: calls.length - 1 }[event.key];
    const next = to === undefined ? undefined : calls[Math.max(0, Math.min(calls.length - 1, to))];
    if (next === undefined) return;
    event.preventDefault();
    focusWanted.current = true;
    goTo(hrefTo(["rollouts", next.rollout, next.id]), true);
  };
  const numbers = new Map(calls.map((call, i) => [call.id, i + 1]));
  return (
    <nav aria-label={say("call.list")} class="st-call-list">
      <ol ref={list} onKeyDown={onKeyDown}>
        {calls.map((call, i) => (
          <CallItem
            key={call.id}
            call={call}
            number={i + 1}
            isOpen={call.id === open}
            parent={numbers.get(call.parent ?? "")}
          />
        ))}
      </ol>
    </nav>
  );
}

interface ItemProps {
  readonly call: StudioCallLine;
  readonly number: number;
  readonly isOpen: boolean;
  readonly parent: number | undefined;
}

function CallItem({ call, number, isOpen, parent }: ItemProps): JSX.Element {
  const { say, language } = useStudio();
  const marks = [
    call.break === null ? "" : breakText(call, say),
    call.side === null ? "" : say("call.side"),
    call.delivery === "abandoned" ? say("delivery.abandoned") : "",
    call.own ? "" : say("call.foreign"),
  ].filter((mark) => mark !== "");
  return (
    <li>
      <a
        class={`st-call-item${isOpen ? " st-call-open" : ""}`}
        href={hrefTo(["rollouts", call.rollout, call.id])}
        tabIndex={isOpen ? 0 : -1}
        {...(isOpen ? { "aria-current": "true" } : {})}
      >
        <span class={`st-call-number st-lineage-${call.lineage % 6}`}>{number}</span>
        <span class="st-call-summary">
          <span class="st-call-preview">{call.preview === "" ? say("call.silent") : call.preview}</span>
          <span class="st-call-facts">
            {parent === undefined ? say("call.root") : say("call.continues", { n: parent })}
            {" · "}
            {say("call.tokens", {
              prompt: numberText(call.promptTokens, language),
              reply: numberText(call.replyTokens, language),
            })}
            {" · "}
            {durationText(call.latencyMs / 1000, language)}
          </span>
          {marks.length === 0 ? null : (
            <span class="st-marks">
              {marks.map((mark) => (
                <span key={mark} class="st-mark">
                  {mark}
                </span>
              ))}
            </span>
          )}
        </span>
      </a>
    </li>
  );
}
