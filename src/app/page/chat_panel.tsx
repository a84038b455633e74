import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { policyVersionHeader } from "../../schema/policy_version.ts";
import type { RunFault } from "../../schema/run_control.ts";
import { faultIn, faultOf, type PageBackend } from "./backend.ts";
import { FaultNotice } from "./environment.tsx";
import { useKeptValue } from "./kept_value.ts";
import type { Question, Reply, RunMemory } from "./run_memory.ts";
import type { Say, TextKey } from "./texts.ts";

/** Longest reply to ask for. */
const maxTokens = 128;

interface Completion {
  readonly choices: readonly {
    readonly message: {
      readonly content: string | null;
      readonly tool_calls?: readonly { function: { name: string; arguments: string } }[];
    };
    readonly finish_reason: string;
  }[];
}

/** Whom to ask. */
export interface ChatProps {
  readonly backend: PageBackend;
  /** Name of the policy; a run that is not open yet has none, and any name means it. */
  readonly model: string;
  /** True where a model is open. */
  readonly open: boolean;
  /** What is said above the conversation: what it is for, or why nothing can be asked. */
  readonly lead: TextKey;
  /**
   * The update after which a policy version, null where the answer names none, has answered; null for a model that is not
   * trained here.
   */
  updateOf(version: number | null): number | null;
  readonly memory: RunMemory;
  readonly say: Say;
}

async function askModel({ backend, model, updateOf }: ChatProps, question: string): Promise<Reply | RunFault> {
  try {
    const response = await backend.fetch("/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: model === "" ? "policy" : model,
        messages: [{ role: "user", content: question }],
        max_tokens: maxTokens,
        temperature: 0,
      }),
    });
    if (!response.ok) return await faultIn(response);
    const [choice] = ((await response.json()) as Completion).choices;
    const calls = choice?.message.tool_calls?.map(({ function: f }) => `${f.name}(${f.arguments})`) ?? [];
    const text = [choice?.message.content ?? "", ...calls].filter((part) => part !== "").join("\n");
    const version = response.headers.get(policyVersionHeader);
    const update = updateOf(version === null ? null : Number(version));
    return { text, update, cut: choice?.finish_reason === "length" };
  } catch (thrown) {
    return faultOf(thrown);
  }
}

/** Asks the model, and asks it the same again later: what training has changed is seen side by side. */
export function ChatPanel(props: ChatProps): JSX.Element {
  const { open, say } = props;
  const { chat } = props.memory;
  const { questions, busy, fault } = useKeptValue(chat);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current !== null) field.current.value = props.memory.unsent;
  }, []);
  const ask = async (text: string): Promise<void> => {
    chat.set({ ...chat.value, busy: true, fault: null });
    const answer = await askModel(props, text);
    const known = chat.value.questions;
    if ("code" in answer) chat.set({ questions: known, busy: false, fault: answer });
    else chat.set({ questions: withReply(known, text, answer), busy: false, fault: null });
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const text = String(new FormData(form).get("message") ?? "").trim();
    if (text === "") return;
    form.reset();
    props.memory.unsent = "";
    void ask(text);
  };
  return (
    <section class="pg-panel" aria-labelledby="pg-chat">
      <h2 id="pg-chat">{say("chat.title")}</h2>
      <p class="pg-hint">{say(props.lead)}</p>
      <div class="pg-chat" role="log" aria-label={say("chat.title")}>
        {questions.map((question) => (
          <Exchange key={question.text} question={question} say={say} closed={busy || !open} again={ask} />
        ))}
        {busy && <p class="pg-hint">{say("chat.busy")}</p>}
      </div>
      {fault && <FaultNotice fault={fault} say={say} />}
      <form class="pg-ask" onSubmit={submit}>
        <input
          ref={field}
          class="pg-input"
          name="message"
          aria-label={say("chat.message")}
          autocomplete="off"
          disabled={!open}
          onInput={(event: Event) => {
            props.memory.unsent = (event.target as HTMLInputElement).value;
          }}
        />
        <button type="submit" class="pg-button" disabled={busy || !open}>
          {say("chat.send")}
        </button>
      </form>
    </section>
  );
}

/** The questions with a reply more; a question that was asked before keeps its place. */
function withReply(questions: readonly Question[], text: string, reply: Reply): readonly Question[] {
  if (!questions.some((question) => question.text === text)) return [...questions, { text, replies: [reply] }];
  return questions.map((question) =>
    question.text === text ? { ...question, replies: [...question.replies, reply] } : question,
  );
}

function whose(update: number | null, say: Say): string {
  if (update === null) return say("chat.model");
  return update === 0 ? say("chat.base") : say("chat.version", { update });
}

interface ExchangeProps {
  readonly question: Question;
  readonly say: Say;
  readonly closed: boolean;
  again(text: string): Promise<void>;
}

function Exchange({ question, say, closed, again }: ExchangeProps): JSX.Element {
  return (
    <div class="pg-chat">
      <p class="pg-reply pg-mine">
        <span class="pg-who">{say("chat.you")}</span>
        {question.text}
      </p>
      {question.replies.map(({ text, update, cut }, i) => (
        <p key={String(i)} class="pg-reply">
          <span class="pg-who">{whose(update, say)}</span>
          {text === "" ? say("chat.empty") : text}
          {cut && <span class="pg-hint">{say("chat.limit", { tokens: maxTokens })}</span>}
        </p>
      ))}
      <p style="margin:0">
        <button type="button" class="pg-button" disabled={closed} onClick={() => void again(question.text)}>
          {say("chat.again")}
        </button>
      </p>
    </div>
  );
}
