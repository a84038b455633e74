/** HTTP over a message port: how a page, its service worker and its agents reach the gateway in another worker. */

/** A request as it is sent; header names as they were given. */
export interface PortRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: ArrayBuffer | null;
}

/** What a response begins with. */
export interface PortResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** From who asks: a request, that one more part of its body is wanted, or that nobody waits for it any more. */
export type PortAsk =
  | { readonly kind: "http_request"; readonly id: number; readonly request: PortRequest }
  | { readonly kind: "http_pull"; readonly id: number }
  | { readonly kind: "http_cancel"; readonly id: number };

/** From who answers. A body's parts come one for each that was wanted; the error ends a response at any place. */
export type PortAnswer =
  | { readonly kind: "http_head"; readonly id: number; readonly head: PortResponseHead }
  | { readonly kind: "http_part"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly kind: "http_end"; readonly id: number }
  | { readonly kind: "http_error"; readonly id: number; readonly message: string };
