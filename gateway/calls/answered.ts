import type { DeliveryWatch } from "../http/delivery.ts";

/** A model's answer that is recorded and waits to be sent. */
export interface Answered {
  status: number;
  json: unknown;
  watch: DeliveryWatch;
}

/** For answers whose delivery makes no difference. */
export const unwatched: DeliveryWatch = { delivered: () => {}, abandoned: () => {} };
