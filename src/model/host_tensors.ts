import { FormatError } from "../core/errors.ts";
import { sizeOf } from "../core/shape.ts";
import type { ParameterReader, TensorSink } from "./packed_tensors.ts";
import type { ParameterLayout, PlacedParameter } from "./parameter_layout.ts";

/** f32 tensors of one layout on the host. */
export class HostTensors implements ParameterReader, TensorSink {
  /** Each packed buffer. */
  readonly segments: readonly Float32Array[];
  private readonly layout: ParameterLayout;

  constructor(layout: ParameterLayout) {
    this.layout = layout;
    this.segments = layout.segmentBytes.map((bytes) => new Float32Array(bytes / 4));
  }

  write(name: string, values: Float32Array, offset = 0): void {
    const at = this.place(name);
    this.segments[at.segment]?.set(values, at.offsetBytes / 4 + offset);
  }

  async read(name: string, offset = 0, count?: number): Promise<Float32Array> {
    const at = this.place(name);
    const start = at.offsetBytes / 4 + offset;
    return (this.segments[at.segment] as Float32Array).subarray(start, start + (count ?? sizeOf(at.shape) - offset));
  }

  private place(name: string): PlacedParameter {
    const found = this.layout.parameters.get(name);
    if (found !== undefined) return found;
    throw new FormatError("parameter_unknown", `This layout has no parameter "${name}".`, {
      do: "Use a name of its specs.",
    });
  }
}
