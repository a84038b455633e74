import type { TokenizerFiles } from "../schema/tokenizer_files.ts";
import type { ChatTemplate } from "./chat_template.ts";
import type { GuardedEncoder } from "./guarded_encoder.ts";
import { chooseMarks } from "./marks.ts";
import { CarriedNumbers } from "./python_json.ts";
import type { AddedToken } from "./special_tokens.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** Ids that a folder says end a text: eos_token_id of generation_config.json and config.json, and the eos token. */
export function folderStopIds(files: TokenizerFiles, tokenizer: Tokenizer): number[] {
  const eos = tokenizer.specialTokens.eos_token;
  const listed = [files.generationConfig?.eos_token_id, files.modelConfig?.eos_token_id].flat();
  const ids = [...listed, eos === undefined ? undefined : tokenizer.idOf(eos)];
  return [...new Set(ids.filter((id): id is number => Number.isSafeInteger(id)))];
}

/** The token that a template writes after an assistant's message; null when it writes none or refuses the probe. */
export function endOfTurnToken(template: ChatTemplate, encoder: GuardedEncoder): AddedToken | null {
  const marks = chooseMarks([]);
  const text = `${marks.place}reply${marks.place}`;
  try {
    const rendered = template.render(
      {
        messages: [
          { role: "user", content: "u" },
          { role: "assistant", content: text },
        ],
      },
      {
        generationPrompt: false,
        preparation: { mark: (value) => value, numbers: new CarriedNumbers(marks.number) },
      },
    );
    const rest = rendered.slice(rendered.lastIndexOf(text) + text.length);
    return encoder.findControl(rest, marks.lookalike, null)?.token ?? null;
  } catch {
    return null;
  }
}
