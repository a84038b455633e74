import type { Device } from "../gpu/device.ts";
import type { ValueHeadTensors } from "../ops/value_head.ts";
import { loadWeights, type SavedForm, type WeightSource } from "./load_weights.ts";
import { PackedTensors } from "./packed_tensors.ts";
import { layOutParameters } from "./parameter_layout.ts";

/** Where a model folder or an adapter's keeps the value head of its policy. */
export const valueHeadFiles = {
  weights: "value_head.safetensors",
  optimizer: "value_head_optimizer.safetensors",
} as const;

/**
 * A linear head on a policy's own final hidden states, v = h . w + b: what it expects a state to earn. It starts at 0:
 * nothing is expected of any state. It is beside the policy, whose own files stay what others can load.
 */
export class ValueHead {
  readonly parameters: PackedTensors;
  private readonly width: number;

  /** `width`: columns of the hidden states. @throws DeviceError "device_memory" */
  constructor(device: Device, width: number) {
    this.width = width;
    const { maxBufferBytes, offsetAlignment } = device.caps.limits;
    const layout = layOutParameters(
      [
        { name: "head", shape: [1, width], init: "zero" },
        { name: "head.bias", shape: [1], init: "zero" },
      ],
      { maxSegmentBytes: maxBufferBytes, alignment: offsetAlignment },
    );
    this.parameters = new PackedTensors(device, layout, "value_head");
  }

  /** A head with saved weights. @throws FormatError naming the tensor that is missing, too much, or of another shape */
  static async load(device: Device, width: number, source: WeightSource): Promise<ValueHead> {
    const head = new ValueHead(device, width);
    try {
      await loadWeights(source, head.savedForm, head.parameters);
      return head;
    } catch (error) {
      head.dispose();
      throw error;
    }
  }

  /** How its tensors are named in a file: as a critic's head is. */
  get savedForm(): SavedForm {
    const tensors = [
      { name: "score.weight", shape: [1, this.width], parameter: "head", offset: 0 },
      { name: "score.bias", shape: [1], parameter: "head.bias", offset: 0 },
    ];
    return { label: "value head", tensors, prefix: "", isRedundant: () => false };
  }

  /** Weight and bias as operations take them, or of gradients packed like them. */
  tensors(packed: PackedTensors = this.parameters): ValueHeadTensors {
    return { w: packed.tensor("head"), bias: packed.tensor("head.bias") };
  }

  /** Releases the device memory. */
  dispose(): void {
    this.parameters.dispose();
  }
}
