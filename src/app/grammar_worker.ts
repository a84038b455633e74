import { platform } from "#platform";
import { GrammarConstraints } from "../text/grammar/grammar_constraints.ts";
import { serveGrammars } from "../text/grammar/grammar_server.ts";
import { xgrammar } from "./load_xgrammar.ts";

serveGrammars(
  ({ files, vocabSize }) => new GrammarConstraints(async () => files, vocabSize, xgrammar),
  platform.workerPort(),
);
