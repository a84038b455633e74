import { type RoomTicket, roomTicketSchema } from "../../../schema/room.ts";
import { store, stored } from "../preferences.ts";
import type { TicketPlace } from "./room_link.ts";

const ticketKey = "leyden.room";

/** A membership that lasts as long as its tab, reloads included. */
export const tabTicket: TicketPlace = {
  read(): RoomTicket | null {
    try {
      return roomTicketSchema.parse(JSON.parse(stored("sessionStorage", ticketKey) ?? ""));
    } catch {
      // None, or what another version of the page wrote: the person joins again.
      return null;
    }
  },
  keep: (ticket) => store("sessionStorage", ticketKey, ticket === null ? "" : JSON.stringify(ticket)),
};
