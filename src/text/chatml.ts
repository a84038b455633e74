/**
 * The template of a model folder that has none: ChatML turns, tools and tool calls as Hermes models write them. Every
 * turn is written the same wherever it stands, so each prompt extends the one before it.
 */
export const chatmlTemplate: string = `
{%- macro calls(message) -%}
  {%- for call in message.tool_calls -%}
    {{- '\\n' if message.content or not loop.first else '' -}}
    {{- '<tool_call>\\n{"name": "' ~ call.function.name ~ '", "arguments": ' -}}
    {{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson -}}
    {{- '}\\n</tool_call>' -}}
  {%- endfor -%}
{%- endmacro -%}
{%- set first = messages[0] -%}
{%- if tools -%}
  {{- '<|im_start|>system\\n' -}}
  {%- if first.role == 'system' -%}{{- first.content ~ '\\n\\n' -}}{%- endif -%}
  {{- '# Tools\\n\\n<tools>' -}}
  {%- for tool in tools -%}{{- '\\n' ~ (tool | tojson) -}}{%- endfor -%}
  {{- '\\n</tools>\\n\\nTo call a tool, write <tool_call>\\n{"name": NAME, "arguments": OBJECT}\\n</tool_call><|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
  {%- if message.role == 'tool' -%}
    {{- '<|im_start|>user' if loop.first or messages[loop.index0 - 1].role != 'tool' else '' -}}
    {{- '\\n<tool_response>\\n' ~ message.content ~ '\\n</tool_response>' -}}
    {{- '<|im_end|>\\n' if loop.last or messages[loop.index0 + 1].role != 'tool' else '' -}}
  {%- elif not (tools and loop.first and message.role == 'system') -%}
    {{- '<|im_start|>' ~ message.role ~ '\\n' -}}
    {%- if message.reasoning_content -%}{{- '<think>\\n' ~ message.reasoning_content ~ '\\n</think>\\n\\n' -}}{%- endif -%}
    {{- message.content -}}
    {%- if message.tool_calls -%}{{- calls(message) -}}{%- endif -%}
    {{- '<|im_end|>\\n' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
`;
