import type { DeliveryWatch } from "../http/delivery.ts";

/** A model's answer that is recorded and waits to be sent. */
export interface Answered {
  status: number;
  json: unknown;
  watch: DeliveryWatch;
  /** Policy version that drew the last token; absent where another server answered. */
  version?: number;
}

/** For answers whose delivery makes no difference. */
export const unwatched: DeliveryWatch = { delivered: () => {}, abandoned: () => {} };
