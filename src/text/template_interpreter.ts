import { type Environment as EngineEnvironment, Interpreter } from "@huggingface/jinja";

/** What the package's types leave out: they name modules that this project's resolution does not find. */
interface Value {
  type: string;
  value: unknown;
  __bool__(): { value: boolean };
}
interface Environment {
  tests: ReadonlyMap<string, (operand: Value, ...args: Value[]) => boolean>;
  readonly variables: ReadonlyMap<string, Value>;
  readonly parent?: Environment;
  set(name: string, value: unknown): Value;
  lookupVariable(name: string): Value;
}
interface Node {
  type: string;
}
interface Expression extends Node {
  value?: unknown;
  callee?: Expression;
  args?: Expression[];
}
interface Filtered extends Node {
  operand: Expression;
  filter: Expression;
}
interface Loop extends Node {
  iterable: Expression & { lhs?: Expression };
}
interface Evaluator {
  run(program: unknown): Value;
  evaluate(statement: Node | undefined, environment: Environment): Value;
}
// Through unknown: Deno does find those modules, and in them types that are narrower than what is used here.
const PackageInterpreter = Interpreter as unknown as new (environment: EngineEnvironment) => Evaluator;

/** An expression that is already evaluated. */
interface Held extends Expression {
  type: "Held";
  held: Value;
}

interface Sum extends Node {
  operator: { value: string };
  left: Expression;
  right: Expression;
}
/** `text.strip("x")` and the like: the package ignores the characters. */
interface MethodCall extends Node {
  callee: Expression & { object?: Expression; property?: Expression; computed?: boolean };
  args: Expression[];
}

const selections = new Set(["select", "reject", "selectattr", "rejectattr"]);
const stripMethods = new Set(["strip", "lstrip", "rstrip"]);
/** Whether Python's `str.strip()` takes a character as white space. */
const pythonSpace = (c: string): boolean =>
  (/\s/.test(c) && c !== "\ufeff") || (c >= "\u001c" && c <= "\u001f") || c === "\u0085";
/** Tests of Jinja2 that the package lacks. */
const moreTests: Readonly<Record<string, (operand: Value, other: Value) => boolean>> = {
  in: (operand, { value }) =>
    Array.isArray(value)
      ? value.some((item: Value) => item.value === operand.value)
      : typeof value === "string"
        ? value.includes(String(operand.value))
        : value instanceof Map && value.has(operand.value),
  ne: (operand, other) => operand.value !== other.value,
  lt: (operand, other) => Number(operand.value) < Number(other.value),
  le: (operand, other) => Number(operand.value) <= Number(other.value),
  gt: (operand, other) => Number(operand.value) > Number(other.value),
  ge: (operand, other) => Number(operand.value) >= Number(other.value),
};

/**
 * The engine's interpreter with what Python's Jinja2 also does and real chat templates use: loops over texts and over
 * undefined values, `select` and `reject` with any test, `selectattr` on texts, `strip` of given characters, and no
 * sum of a text and something else.
 */
export class TemplateInterpreter extends PackageInterpreter {
  /** What a variable is that is not there. */
  private missing: Value | null = null;

  override evaluate(statement: Node | undefined, environment: Environment): Value {
    switch (statement?.type) {
      case "Held":
        return (statement as Held).held;
      case "Identifier":
        return this.variable(String((statement as Expression).value), environment);
      case "For":
        return super.evaluate(this.overItems(statement as Loop, environment), environment);
      case "FilterExpression":
        return this.filtered(statement as Filtered, environment);
      case "BinaryExpression":
        return this.summed(statement as Sum, environment);
      case "CallExpression":
        return (
          this.stripped(statement as MethodCall, environment) ?? super.evaluate(statement as MethodCall, environment)
        );
      default:
        return super.evaluate(statement, environment);
    }
  }

  /** The package throws and catches an error for each variable that is not there, which templates ask for all the time. */
  private variable(name: string, environment: Environment): Value {
    for (let at: Environment | undefined = environment; at; at = at.parent) {
      const value = at.variables.get(name);
      if (value !== undefined) return value;
    }
    this.missing ??= environment.lookupVariable("");
    return this.missing;
  }

  /** A text and something else have no sum: Python refuses, where the package would write "[object Map]". */
  private summed(node: Sum, environment: Environment): Value {
    if (node.operator.value !== "+") return super.evaluate(node, environment);
    const [left, right] = [this.evaluate(node.left, environment), this.evaluate(node.right, environment)];
    if ((left.type === "StringValue") !== (right.type === "StringValue")) {
      throw new Error(`can only concatenate text to text, not ${left.type} to ${right.type}`);
    }
    return super.evaluate(copy(node, { left: hold(left), right: hold(right) }), environment);
  }

  /** Null for any other call. */
  private stripped(call: MethodCall, environment: Environment): Value | null {
    const { object, property, computed } = call.callee;
    const method = String(property?.value);
    if (call.callee.type !== "MemberExpression" || computed || !object || !stripMethods.has(method)) return null;
    const text = this.evaluate(object, environment);
    if (text.type !== "StringValue") return null;
    const given = call.args[0] ? this.evaluate(call.args[0], environment).value : null;
    return runtimeValue(strip(String(text.value), method, typeof given === "string" ? given : null), environment);
  }

  private overItems(loop: Loop, environment: Environment): Node {
    const { iterable } = loop;
    const source = iterable.type === "SelectExpression" && iterable.lhs ? iterable.lhs : iterable;
    const held = hold(loopItems(this.evaluate(source, environment), environment));
    const over = source === iterable ? held : copy(iterable, { lhs: held });
    return copy(loop, { iterable: over });
  }

  private filtered(node: Filtered, environment: Environment): Value {
    const operand = this.evaluate(node.operand, environment);
    const name = String((node.filter.callee ?? node.filter).value);
    const items = selections.has(name) ? loopItems(operand, environment).value : null;
    if (!Array.isArray(items)) return super.evaluate(copy(node, { operand: hold(operand) }), environment);
    const args = (node.filter.args ?? []).map((arg) => this.evaluate(arg, environment));
    const path = name.endsWith("attr") ? String(args.shift()?.value ?? "").split(".") : [];
    const passes = namedTest(args, environment);
    const subject = (item: Value) => attribute(item, path, environment.lookupVariable(""));
    const wanted = name.startsWith("select");
    return runtimeList(
      items.filter((item: Value) => passes(subject(item)) === wanted),
      environment,
    );
  }
}

/** What lies under an item at a path of names; `missing` where it has no such attribute. */
function attribute(item: Value, path: readonly string[], missing: Value): Value {
  return path.reduce((value, name) => (value.value instanceof Map && value.value.get(name)) || missing, item);
}

/** What a loop goes through: a text's code points, nothing for an undefined value, and else the value itself. */
function loopItems(value: Value, environment: Environment): Value {
  if (value.type === "UndefinedValue") return runtimeList([], environment);
  if (value.type !== "StringValue") return value;
  return runtimeList(
    Array.from(String(value.value), (character) => runtimeValue(character, environment)),
    environment,
  );
}

/** The test that a filter's arguments name, with its own arguments; truth without one. */
function namedTest(args: readonly Value[], environment: Environment): (item: Value) => boolean {
  const [name, ...rest] = args;
  if (name === undefined) return (item) => item.__bool__().value;
  const test = environment.tests.get(String(name.value)) ?? moreTests[String(name.value)];
  if (!test) throw new Error(`Unknown test: ${String(name.value)}`);
  return (item) => (test as (operand: Value, ...args: Value[]) => boolean)(item, ...rest);
}

/** Python's `strip`, `lstrip` or `rstrip`: white space by default, or any of the characters given. */
function strip(text: string, method: string, characters: string | null): string {
  const all = Array.from(text);
  const outer = (c: string) => (characters === null ? pythonSpace(c) : characters.includes(c));
  let [start, end] = [0, all.length];
  if (method !== "rstrip") while (start < end && outer(all[start] as string)) start++;
  if (method !== "lstrip") while (end > start && outer(all[end - 1] as string)) end--;
  return all.slice(start, end).join("");
}

function runtimeList(items: Value[], environment: Environment): Value {
  const list = runtimeValue([], environment);
  (list.value as Value[]).push(...items);
  return list;
}

/** The engine exports its values' classes only through the variables of an environment. */
function runtimeValue(value: unknown, environment: Environment): Value {
  const scratch = new (environment.constructor as new () => Environment)();
  return scratch.set("value", value);
}

function hold(held: Value): Held {
  return { type: "Held", held };
}

function copy<T extends Node>(node: T, changes: Record<string, unknown>): T {
  return Object.assign(Object.create(Object.getPrototypeOf(node)), node, changes);
}
