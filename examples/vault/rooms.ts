/** What lies in the rooms of a vault, and what the agent's model may do there. */

/** A vault as the agent's program has it; the model sees a room only by opening it. */
export interface Vault {
  /** Room where the chain begins. */
  start: string;
  /** Colour whose numbers lead on. */
  colour: string;
  /** What a room has, by its number; every other room is empty. */
  rooms: Record<string, string>;
}

/** A room that was opened and what it had. */
export interface Note {
  room: string;
  text: string;
}

/** What a reply asks for; null when it is neither. */
export type Action = { kind: "open"; room: string } | { kind: "answer"; code: string } | null;

/** Calls of the model in one rollout. */
export const maxCalls = 24;
/** Notes the model is shown. */
const notesShown = 2;

/** Reads a reply: "open 57", "go red 83" or "answer 42". */
export function readAction(reply: string): Action {
  const room = /^(?:open|go [a-z]+) (\d{1,2})$/.exec(reply)?.[1];
  if (room !== undefined) return { kind: "open", room };
  const code = /^answer (\d{1,6})$/.exec(reply)?.[1];
  return code === undefined ? null : { kind: "answer", code };
}

/** What the agent notes of a room it opens. */
export function openRoom(vault: Vault, room: string): Note {
  return { room, text: Object.hasOwn(vault.rooms, room) ? (vault.rooms[room] as string) : "empty" };
}

/** The one message of a call: the last notes, then the goal. */
export function messageFor({ start, colour }: Vault, notes: readonly Note[]): string {
  const shown = notes.slice(-notesShown).map(({ room, text }) => `${room} has ${text}\n`);
  return `notes\n${shown.join("")}follow ${colour} from ${start}`;
}
