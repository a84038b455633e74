/** Work that stops at places of its own choice and goes on only when it is told to. */
export class PacedWork<T> {
  /** What the work came to; settles inside an `advance`. */
  readonly result: Promise<T>;
  private proceed: () => void = () => {};
  private reached: () => void = () => {};

  /** `work` is not begun before the first `advance`; it may stop where it awaits `between`. */
  constructor(work: (between: () => Promise<void>) => Promise<T>) {
    const begun = new Promise<void>((resolve) => {
      this.proceed = resolve;
    });
    this.result = begun.then(() => work(() => this.pause()));
    // Whoever advances the work sees its failure in `result`.
    this.result.catch(() => undefined);
  }

  /** Lets the work go on to its next stop. True once it has ended, well or not: see `result`. */
  async advance(): Promise<boolean> {
    const stopped = new Promise<boolean>((resolve) => {
      this.reached = () => resolve(false);
    });
    const ended = this.result.then(
      () => true,
      () => true,
    );
    this.proceed();
    return Promise.race([stopped, ended]);
  }

  private pause(): Promise<void> {
    const told = new Promise<void>((resolve) => {
      this.proceed = resolve;
    });
    this.reached();
    return told;
  }
}
