import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { faultWords, type RunFault } from "../../schema/run_control.ts";
import { faultText } from "./fault_texts.ts";
import type { Say, TextKey } from "./texts.ts";

/** Why this browser cannot train, as far as can be known before trying; null when it can. */
export async function findObstacle(): Promise<RunFault | null> {
  const { gpu } = navigator as { gpu?: GPU };
  if (gpu === undefined) return { code: isSecureContext ? "no_webgpu" : "insecure_page", message: "", do: "" };
  const adapter = await gpu.requestAdapter().catch(() => null);
  return adapter === null ? { code: "no_adapter", message: "", do: "" } : null;
}

interface Explanation {
  readonly title: TextKey;
  readonly why: TextKey;
  /** Lists browsers, and what to switch on. */
  readonly browsers?: boolean;
}

const explanations: Readonly<Record<string, Explanation>> = {
  no_webgpu: { title: "env.noWebgpu", why: "env.noWebgpuWhy", browsers: true },
  insecure_page: { title: "env.noWebgpu", why: "env.insecure" },
  no_adapter: { title: "env.noAdapter", why: "env.noAdapterWhy", browsers: true },
  device_memory: { title: "env.memory", why: "env.memoryWhat" },
  memory_budget: { title: "env.memory", why: "env.memoryWhat" },
  device_lost: { title: "env.lost", why: "env.lostWhat" },
  server_gone: { title: "env.gone", why: "env.goneWhy" },
  second_tab: { title: "env.second", why: "env.secondWhy" },
};

const browserKeys: readonly TextKey[] = ["env.chrome", "env.linux", "env.firefox", "env.safari"];

/** What the page says of a fault's code; null where only the fault's own words tell. */
export function faultReason(code: string): TextKey | null {
  return explanations[code]?.why ?? faultText(code)?.text ?? null;
}

/** A fault's own words, which are English: folded where the page's say as much. */
export function FaultWords({ fault, say }: { fault: RunFault; say: Say }): JSX.Element | null {
  const { code } = fault;
  if (fault.message === "") return null;
  const words = <p lang="en">{faultWords(fault)}</p>;
  if (faultReason(code) === null) return words;
  return (
    <details class="pg-details" open={faultText(code)?.exact === true}>
      <summary>{say("fault.details")}</summary>
      {words}
    </details>
  );
}

/** Says what is wrong and what to do, with the fault's own words below. */
export function FaultNotice({ fault, say, retry }: { fault: RunFault; say: Say; retry?: () => void }): JSX.Element {
  const known = explanations[fault.code];
  const why = faultReason(fault.code);
  return (
    <section class="pg-notice" role="alert">
      <h2>{say(known?.title ?? "env.failed")}</h2>
      {why && <p>{say(why)}</p>}
      <FaultWords fault={fault} say={say} />
      {known?.browsers && (
        <>
          <p>{say("env.browsers")}</p>
          <ul>
            {browserKeys.map((key) => (
              <li key={key}>{say(key)}</li>
            ))}
          </ul>
        </>
      )}
      <p class="pg-hint">{say("env.code", { code: fault.code })}</p>
      {retry && (
        <p>
          <button type="button" class="pg-button" onClick={retry}>
            {say("retry")}
          </button>
        </p>
      )}
    </section>
  );
}
