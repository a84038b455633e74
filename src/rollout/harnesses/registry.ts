import { claudeCode } from "./claude_code.ts";
import { codex } from "./codex.ts";
import { geminiCli } from "./gemini_cli.ts";
import type { Harness } from "./harness.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { qwenCode } from "./qwen_code.ts";

/** Every agent program that Leyden knows how to run; to add one, write its file and add a line. */
export const harnesses: readonly Harness[] = [claudeCode, codex, opencode, pi, qwenCode, geminiCli];
