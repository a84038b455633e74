/** What a gateway under load says of itself: CPU and sizes since it started. */
export interface LoadReport {
  /** CPU of the thread that serves, and of the process's other threads, in milliseconds. */
  readonly servingMs: number;
  readonly othersMs: number;
  /** Bytes. */
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  /** Calls recorded; of them those that continue none; and what became of their replies. */
  readonly calls: number;
  readonly roots: number;
  readonly delivered: number;
  readonly abandoned: number;
  readonly faults: number;
}
