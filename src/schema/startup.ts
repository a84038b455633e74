/** Where the time from the program's start to its first update went, in seconds; the parts but `other` are measured. */
export interface Startup {
  readonly total: number;
  /** From the process's start until the run began: loading the program and the configuration. */
  readonly program: number;
  readonly device: number;
  readonly model: number;
  /** Waiting for the first update's rollouts: agents, sampling, and compiling what samples. */
  readonly rollouts: number;
  /** The first update itself, and compiling what trains. */
  readonly update: number;
  /** Store, gateway, controller, building the batch, saving the first checkpoint. */
  readonly other: number;
}
