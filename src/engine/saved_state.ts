import type { CriticResult, CriticUpdateRequest } from "../schema/row_scores.ts";
import { type EngineParts, type ModelState, stateFor } from "./engine_parts.ts";

/** Steps of the critic that are kept, with their rows: as the policy rests, nothing else ends their number. */
const mostCriticSteps = 16;

/**
 * What outlives a lost device: the state after the last update, and the steps that the critic took since. These are taken
 * again on a fresh device, since the whole state is read back once per update only, or once in `mostCriticSteps`.
 */
export class SavedState {
  private state: ModelState | null = null;
  private criticSteps: CriticUpdateRequest[] = [];

  /** Keeps the state that the device is in. @throws DeviceError "device_lost" */
  async keep(parts: EngineParts): Promise<void> {
    this.state = await parts.snapshot({ optimizer: true });
    this.criticSteps = [];
  }

  /** One step of the critic, which is kept. @throws as EngineParts.updateCritic; DeviceError "device_lost" */
  async updateCritic(parts: EngineParts, request: CriticUpdateRequest): Promise<CriticResult> {
    // Before the step: one that was taken is not asked for again when the device is lost over the reading.
    if (this.criticSteps.length === mostCriticSteps) await this.keep(parts);
    const result = await parts.updateCritic(request);
    if (result.skipped === null) this.criticSteps.push(request);
    return result;
  }

  /** The present state as a snapshot asks for it. @throws DeviceError "device_lost" */
  async read(parts: EngineParts, asked: { optimizer: boolean }): Promise<ModelState> {
    if (this.criticSteps.length > 0) await this.keep(parts);
    return stateFor(asked, this.state ?? (await parts.snapshot(asked)));
  }

  /** Opens a device and brings it to the present state. @throws as `open`; DeviceError "device_lost" */
  async reopen(open: (state: ModelState | null) => Promise<EngineParts>): Promise<EngineParts> {
    const parts = await open(this.state);
    try {
      for (const step of this.criticSteps) await parts.updateCritic(step);
    } catch (thrown) {
      parts.dispose();
      throw thrown;
    }
    return parts;
  }
}
