import type { DevicePolicy } from "../../src/schedule/device_schedule.ts";

const kinds = ["prefill", "decode", "train", "update", "score", "lost"] as const;

/** What the device did with an action; one that it was lost in served nobody. */
export type ActionKind = (typeof kinds)[number];

/** Who waits: a call, a question to the models, or the queue of gradients and updates. */
export type WaiterKind = "call" | "question" | "training";

type Counts = Record<ActionKind, number>;
type Most = Partial<Record<ActionKind | "overtaken", number>>;

interface Wait {
  readonly kind: WaiterKind;
  /** How many were asked before it. */
  readonly place: number;
  /** Questions that waited when it was asked. */
  readonly questionsAhead: number;
  /** Actions since it was asked, or served last. */
  counts: Counts;
  /** Prefill and decode steps among them that served nobody but calls asked later. */
  overtaken: number;
}

const none: Readonly<Counts> = Object.freeze({ prefill: 0, decode: 0, train: 0, update: 0, score: 0, lost: 0 });

/** Prefill and decode steps that may go to younger calls alone before an older one is served: the two take turns. */
const mostOvertaken = 1;

/**
 * Follows all that wait through a device's actions. A wait is the actions from when something was asked, or served last,
 * until it is served: what came between must be no more than the schedule promises.
 */
export class Waits {
  /** Waits that were longer than they may be. */
  readonly tooLong: string[] = [];
  /** Most actions of one wait, by who waited. */
  readonly longest: Record<WaiterKind, number> = { call: 0, question: 0, training: 0 };
  private readonly policy: DevicePolicy;
  private readonly waiting = new Map<string, Wait>();
  private places = 0;

  constructor(policy: DevicePolicy) {
    this.policy = policy;
  }

  asked(id: string, kind: WaiterKind): void {
    const questionsAhead = [...this.waiting.values()].filter((wait) => wait.kind === "question").length;
    this.waiting.set(id, { kind, place: this.places++, questionsAhead, counts: { ...none }, overtaken: 0 });
  }

  answered(id: string): void {
    const wait = this.waiting.get(id);
    if (wait !== undefined) this.end(id, wait);
    this.waiting.delete(id);
  }

  /** The device has done something for those it names; gradients and updates are for whoever waits for training. */
  acted(action: ActionKind, served: readonly string[]): void {
    const isInference = action === "prefill" || action === "decode";
    const trains = action === "train" || action === "update";
    const first = Math.min(...served.map((id) => this.waiting.get(id)?.place ?? Number.POSITIVE_INFINITY));
    for (const [id, wait] of this.waiting) {
      if (served.includes(id) || (trains && wait.kind === "training")) {
        this.end(id, wait);
      } else {
        wait.counts[action]++;
        if (isInference && first > wait.place) wait.overtaken++;
      }
    }
  }

  private end(id: string, wait: Wait): void {
    const { kind, counts, overtaken, questionsAhead } = wait;
    const actions = kinds.reduce((sum, action) => sum + counts[action], 0);
    if (actions === 0) return;
    this.longest[kind] = Math.max(this.longest[kind], actions);
    let most = mostOfQuestion(counts, questionsAhead);
    if (kind !== "question") most = kind === "call" ? this.mostOfCall(counts) : this.mostOfTraining(counts);
    const exceeds = kinds.some((action) => counts[action] > (most[action] ?? actions));
    if (exceeds || overtaken > (most.overtaken ?? actions)) {
      this.tooLong.push(`${kind} ${id} waited for ${JSON.stringify({ ...counts, overtaken })}`);
    }
    wait.counts = { ...none };
    wait.overtaken = 0;
  }

  /** A call waits for calls asked before it, and for what training and questions get beside their steps of inference. */
  private mostOfCall({ prefill, decode, train, update, lost }: Counts): Most {
    const inference = prefill + decode + lost;
    const drains = this.policy.inFlight === "drain";
    const mostTrain = drains ? 0 : 1 + Math.floor(inference / this.policy.stepsPerQuantum);
    return {
      train: mostTrain,
      // Draining, one is waited for before a call begins; else each has had a quantum of gradients. A step that is lost
      // before its state is read back is taken again.
      update: (drains ? 1 : 1 + mostTrain) + lost,
      score: inference + train + update + 1,
      overtaken: mostOvertaken,
    };
  }

  /** A quantum waits for so many steps of inference; an update that drains waits for the calls asked before it alone. */
  private mostOfTraining({ prefill, decode, lost }: Counts): Most {
    const score = prefill + decode + lost + 1;
    if (this.policy.inFlight === "drain") return { overtaken: 0, score };
    // A quantum that the device was lost in was its turn.
    const steps = this.policy.stepsPerQuantum * (1 + lost);
    return { prefill: steps, decode: steps - prefill, score };
  }
}

/** A question waits for those before it, a state that the loop asks for among them, and one other action before each. */
function mostOfQuestion({ prefill, decode, train, update, lost }: Counts, ahead: number): Most {
  const others = ahead + 2 + lost;
  return { ...(prefill + decode + train + update > others ? none : {}), score: ahead };
}
