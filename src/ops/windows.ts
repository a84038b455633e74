import { elementBytes } from "../core/dtype.ts";
import { ShapeError } from "../core/errors.ts";
import type { Device } from "../gpu/device.ts";
import { dimText, maxBytes, maxElements, type Tensor } from "../gpu/tensor.ts";

/**
 * A tensor as consecutive one-dimensional views that each fit one storage binding (128 MiB on common adapters); the
 * tensor itself when it already fits. `limitBytes` lowers the limit.
 * @throws ShapeError when a tensor with a dynamic axis is too large for one binding.
 */
export function bindingWindows(
  device: Device,
  tensor: Tensor,
  limitBytes: number = Number.POSITIVE_INFINITY,
): Tensor[] {
  const { maxBindingBytes, offsetAlignment } = device.caps.limits;
  const limit = Math.min(limitBytes, maxBindingBytes);
  const step = Math.floor(limit / offsetAlignment) * offsetAlignment;
  const total = maxBytes(tensor);
  if (total <= limit) return [tensor];
  if (step === 0 || tensor.shape.some((d) => typeof d !== "number")) {
    throw new ShapeError(
      `windows.${tensor.label}`,
      [`<=${Math.floor(limit / elementBytes[tensor.dtype])}`],
      tensor.shape.map(dimText),
      "Split the tensor, or plan for fewer tokens.",
    );
  }
  const size = elementBytes[tensor.dtype];
  const windows: Tensor[] = [];
  for (let at = 0; at < total; at += step) {
    const elements = Math.min(step / size, maxElements(tensor.shape) - at / size);
    windows.push({ ...tensor, shape: [elements], offsetBytes: tensor.offsetBytes + at });
  }
  return windows;
}
