import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { ChatMessage } from "../../../src/schema/chat.ts";
import type { ForkRequest, StudioCall, StudioFork, StudioRun } from "../../../src/schema/studio_api.ts";
import type { StudioApi } from "./api.ts";
import { useStudio } from "./context.ts";
import { momentText, numberText } from "./format.ts";
import { useLiveState } from "./live_state.ts";
import { contentText, Message } from "./message_view.tsx";
import type { TextKey } from "./texts.ts";
import { scaleOf } from "./token_colors.ts";
import { TokenText } from "./token_text.tsx";

type Kind = "same" | "messages" | "tokens";
const kinds: readonly Kind[] = ["same", "messages", "tokens"];

export interface ForkPanelProps {
  readonly call: StudioCall;
  /** Why the call cannot be asked again; null when it can. */
  readonly obstacle: TextKey | null;
  /** Tokens to keep, where a token was chosen to go on from. */
  readonly keep: number | null;
  readonly forks: readonly StudioFork[];
}

/** Why a call cannot be asked again; null when a model is open that answers it. */
export function forkObstacle(api: StudioApi, { can }: StudioRun, call: StudioCall): TextKey | null {
  if (!api.isLive) return "fork.report";
  if (!call.own) return "fork.foreign";
  if (can.fork) return null;
  return can.start ? "fork.closed" : "fork.record";
}

/** Asks a call again with changes, and shows what came of it. */
export function ForkPanel({ call, obstacle, keep, forks: known }: ForkPanelProps): JSX.Element {
  const { api, say } = useStudio();
  const [made, setMade] = useLiveState<readonly StudioFork[]>([]);
  const [state, setState] = useLiveState({ busy: false, error: "" });
  const seen = new Set(known.map((fork) => fork.id));
  const forks = [...known, ...made.filter((fork) => !seen.has(fork.id))].reverse();
  const send = async (request: ForkRequest): Promise<void> => {
    setState({ busy: true, error: "" });
    try {
      const fork = await api.fork(call.rollout, call.id, request);
      setMade((before) => [...before, fork]);
      setState({ busy: false, error: "" });
    } catch (thrown) {
      setState({ busy: false, error: thrown instanceof Error ? thrown.message : String(thrown) });
    }
  };
  return (
    <details class="st-more st-fork" open={keep !== null || forks.length > 0}>
      <summary>{say("fork.title", { n: forks.length })}</summary>
      <p class="st-hint">{say(obstacle ?? "fork.hint", { endpoint: call.endpoint })}</p>
      {obstacle === null ? <ForkForm call={call} keep={keep} busy={state.busy} send={send} /> : null}
      <p role="status" class="st-hint">
        {state.busy ? say("fork.busy") : ""}
      </p>
      {state.error === "" ? null : (
        <p class="st-error" role="alert">
          {state.error}
        </p>
      )}
      {forks.map((fork) => (
        <ForkResult key={fork.id} fork={fork} />
      ))}
    </details>
  );
}

interface FormProps {
  readonly call: StudioCall;
  readonly keep: number | null;
  readonly busy: boolean;
  send(request: ForkRequest): Promise<void>;
}

function ForkForm({ call, keep, busy, send }: FormProps): JSX.Element {
  const { say } = useStudio();
  const [kind, setKind] = useLiveState<Kind>(keep === null ? "same" : "tokens");
  const [messages, setMessages] = useLiveState<readonly ChatMessage[]>(call.messages);
  const [cut, setCut] = useLiveState({ keep: String(keep ?? call.promptTokens), insert: "" });
  const recorded = call.sampling.temperature;
  const [settings, setSettings] = useLiveState({
    temperature: String(typeof recorded === "number" ? recorded : 1),
    maxTokens: "128",
  });
  const submit = (event: Event): void => {
    event.preventDefault();
    const common = { temperature: Number(settings.temperature), maxTokens: Number(settings.maxTokens) };
    if (kind === "messages") void send({ ...common, messages: [...messages] });
    else if (kind === "tokens") void send({ ...common, keep: Number(cut.keep), insert: cut.insert });
    else void send(common);
  };
  return (
    <form class="st-fork-form" onSubmit={submit}>
      <div class="st-segments" role="radiogroup" aria-label={say("fork.kind")}>
        {kinds.map((one) => (
          <label key={one} class={`st-segment${one === kind ? " st-segment-on" : ""}`}>
            <input type="radio" name="st-fork-kind" value={one} checked={one === kind} onChange={() => setKind(one)} />
            {say(`fork.${one}`)}
          </label>
        ))}
      </div>
      {kind === "messages" ? <MessageFields messages={messages} change={setMessages} /> : null}
      {kind === "tokens" ? <CutFields call={call} cut={cut} change={setCut} /> : null}
      <div class="st-inline">
        <NumberField
          label={say("fork.temperature")}
          value={settings.temperature}
          change={(temperature) => setSettings({ ...settings, temperature })}
        />
        <NumberField
          label={say("fork.maxTokens")}
          value={settings.maxTokens}
          change={(maxTokens) => setSettings({ ...settings, maxTokens })}
        />
        <button type="submit" class="st-button st-primary" disabled={busy}>
          {say("fork.sample")}
        </button>
      </div>
    </form>
  );
}

function NumberField({
  label,
  value,
  change,
}: {
  label: string;
  value: string;
  change(value: string): void;
}): JSX.Element {
  return (
    <label class="st-field st-field-number">
      <span>{label}</span>
      <input
        type="number"
        min="0"
        step="any"
        required
        value={value}
        onInput={(event) => change((event.target as HTMLInputElement).value)}
      />
    </label>
  );
}

/** Texts of the conversation to change; the beginning that stays unchanged keeps its tokens. */
function MessageFields({
  messages,
  change,
}: {
  messages: readonly ChatMessage[];
  change(messages: readonly ChatMessage[]): void;
}): JSX.Element {
  const edit = (at: number, content: string): void =>
    change(messages.map((message, i) => (i === at ? { ...message, content } : message)));
  return (
    <div class="st-fork-messages">
      {messages.map((message, i) => (
        <label key={`${i}`} class="st-field">
          <span>{`${i + 1} ${message.role}`}</span>
          <textarea
            rows={Math.min(8, 1 + Math.ceil(contentText(message).length / 90))}
            value={contentText(message)}
            onInput={(event) => edit(i, (event.target as HTMLTextAreaElement).value)}
          />
        </label>
      ))}
    </div>
  );
}

interface CutProps {
  readonly call: StudioCall;
  readonly cut: { keep: string; insert: string };
  change(cut: { keep: string; insert: string }): void;
}

function CutFields({ call, cut, change }: CutProps): JSX.Element {
  const { say } = useStudio();
  const most = call.promptTokens + call.replyTokens;
  const inReply = Math.max(0, Number(cut.keep) - call.promptTokens);
  return (
    <div class="st-fork-tokens">
      <label class="st-field st-field-number">
        <span>{say("fork.keep", { n: most })}</span>
        <input
          type="number"
          min="0"
          max={String(most)}
          required
          value={cut.keep}
          onInput={(event) => change({ ...cut, keep: (event.target as HTMLInputElement).value })}
        />
      </label>
      <p class="st-hint">
        {inReply > 0
          ? say("fork.kept", { text: JSON.stringify(call.reply.texts.slice(0, inReply).join("")) })
          : say("fork.keptPrompt")}
      </p>
      <label class="st-field">
        <span>{say("fork.insert")}</span>
        <textarea
          rows={2}
          value={cut.insert}
          onInput={(event) => change({ ...cut, insert: (event.target as HTMLTextAreaElement).value })}
        />
      </label>
    </div>
  );
}

/** A fork: what was changed, and what the policy said. */
function ForkResult({ fork }: { fork: StudioFork }): JSX.Element {
  const { say, language } = useStudio();
  const scale = scaleOf("logprob", fork.reply.logprobs);
  const sum = fork.reply.logprobs.reduce((a, b) => a + b, 0);
  const changed = fork.changed.texts.join("");
  return (
    <article class="st-fork-result">
      <p class="st-hint">
        {`${momentText(fork.at, language)} · ${say(`fork.${fork.kind}`)} · ${say("fork.facts", {
          temperature: numberText(fork.temperature, language),
          kept: fork.kept,
          prompt: fork.promptTokens,
          reply: fork.reply.ids.length,
          sum: numberText(sum, language),
          finish: fork.finishReason,
        })}`}
      </p>
      {changed === "" ? null : <pre class="st-changed">{changed}</pre>}
      <TokenText
        label={say("fork.reply")}
        tokens={fork.reply}
        classOf={(i) => scale?.classOf(fork.reply.logprobs[i] ?? 0) ?? ""}
        colors={fork.id}
        chosen={-1}
      />
      {(fork.message.tool_calls ?? []).length === 0 ? null : <Message message={{ ...fork.message, content: null }} />}
    </article>
  );
}
