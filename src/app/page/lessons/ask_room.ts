import { asLeydenError, LeydenError } from "../../../core/errors.ts";
import type { Ask } from "./lesson_gateway.ts";

/** Asks the server that holds a room; runs are elsewhere and go on without it. @throws LeydenError "room_gone" where it does not answer */
export async function askRoom(ask: Ask, path: string, init?: RequestInit): Promise<Response> {
  try {
    return await ask(`/room/api/${path}`, init);
  } catch (cause) {
    const { code, message } = asLeydenError(cause);
    if (code !== "server_gone") throw cause;
    throw new LeydenError("room_gone", `The room cannot be reached: ${message}`, {
      do: "Check the network, or start `leyden serve --lan` again. Runs go on in their own tabs.",
      cause,
    });
  }
}

/** Asks it for something with a JSON body. @throws LeydenError "room_gone" where it does not answer */
export function postRoom(ask: Ask, path: string, body: unknown): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return askRoom(ask, path, { method: "POST", headers, body: JSON.stringify(body) });
}
