/** A room's addresses: members come with its code and then with their token, the teacher with the admin's key. */
import {
  roomJoinSchema,
  roomLeaveSchema,
  roomLimits,
  roomRemovalSchema,
  roomReportSchema,
} from "../../src/schema/room.ts";
import type { Gateway } from "../context.ts";
import { readJson } from "../http/body.ts";
import { peerAddress, senderOf } from "../http/peer.ts";
import type { Routes } from "../http/routes.ts";
import { validated } from "../http/validation.ts";

const nothing = (): Response => new Response(null, { status: 204 });

export function addRoomRoutes(routes: Routes, gateway: Gateway): void {
  const { room } = gateway.deps;
  if (room === undefined) return;
  const bodyOf = (request: Request): Promise<unknown> => readJson(request, roomLimits.bodyBytes);

  routes.add("POST", "/room/api/join", "Enters the room by its code", async (c) =>
    Response.json(room.join(validated(roomJoinSchema, await bodyOf(c.req.raw)), senderOf(peerAddress(c)))),
  );

  routes.add("POST", "/room/api/report", "How far a member is", async (c) => {
    room.report(validated(roomReportSchema, await bodyOf(c.req.raw)));
    return nothing();
  });

  routes.add("POST", "/room/api/leave", "Leaves the room", async (c) => {
    room.leave(validated(roomLeaveSchema, await bodyOf(c.req.raw)).token);
    return nothing();
  });

  routes.add("POST", "/room/api/remove", "Puts a member out of the room", async (c) => {
    await gateway.requireAdmin(c);
    room.remove(validated(roomRemovalSchema, await bodyOf(c.req.raw)).id);
    return nothing();
  });

  routes.add("GET", "/room/api/view", "Everybody in the room", async (c) => {
    await gateway.requireAdmin(c);
    return Response.json(room.view());
  });
}
