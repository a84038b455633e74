/** What the programs of this folder share: two tools, a task, and the line by which they tell what they heard. */

export const instructions = "You are a clerk. Use your tools.";
export const question = "How much is 2 + 3, and what is the code of the room?";

/** The tools as functions: names, schemas, and what they do. */
export const toolSpecs = {
  add: {
    description: "Adds two numbers.",
    parameters: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
      additionalProperties: false,
    },
    run: ({ a, b }) => String(a + b),
  },
  lookup: {
    description: "Looks a code up.",
    parameters: {
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
      additionalProperties: false,
    },
    run: ({ name }) => `The code of ${name} is 4711.`,
  },
};

/** One reply as the program's SDK understood it; arguments as values, since not every SDK keeps their text. */
export function heard(text, calls = []) {
  return { text: text ?? "", calls: calls.map(({ id, name, args }) => ({ id, name, args })) };
}

/** Prints all replies in the order they came. */
export function tell(replies) {
  console.log(`\nHEARD ${JSON.stringify(replies)}`);
}
