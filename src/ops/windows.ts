import { blockColumns, elementBytes } from "../core/dtype.ts";
import { ShapeError } from "../core/errors.ts";
import type { Device } from "../gpu/device.ts";
import { dimMax, dimText, maxBytes, maxElements, type Tensor } from "../gpu/tensor.ts";

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

/** Consecutive rows of a matrix as a view that fits one storage binding. */
export interface RowWindow {
  readonly first: number;
  readonly rows: number;
  readonly view: Tensor;
}

/**
 * A matrix (V,C) as windows of whole rows that each fit one storage binding and start at an aligned offset; one window,
 * of the most rows it may have, when it already fits. `limitBytes` lowers the limit.
 * @throws ShapeError when not even the smallest aligned group of rows fits, or a matrix that needs windows is dynamic.
 */
export function rowWindows(device: Device, matrix: Tensor, limitBytes: number = Number.POSITIVE_INFINITY): RowWindow[] {
  const { maxBindingBytes, offsetAlignment } = device.caps.limits;
  const limit = Math.min(limitBytes, maxBindingBytes);
  const [height = 0, width = 0] = matrix.shape;
  const [rows, cols] = [dimMax(height), dimMax(width)];
  const rowBytes = cols * elementBytes[matrix.dtype];
  if (rows * rowBytes <= limit) return [{ first: 0, rows, view: matrix }];
  const scaleBytes = matrix.scales === undefined ? 0 : (cols / blockColumns) * elementBytes.f32;
  const unit = Math.max(alignedRows(rowBytes, offsetAlignment), alignedRows(scaleBytes, offsetAlignment));
  const step = Math.floor(limit / (unit * rowBytes)) * unit;
  if (step === 0 || typeof height !== "number") {
    const most = Math.floor(limit / elementBytes[matrix.dtype]);
    const got = matrix.shape.map(dimText);
    throw new ShapeError(`windows.${matrix.label}`, [`<=${most}`], got, "Plan for fewer rows, or narrower ones.");
  }
  return Array.from({ length: Math.ceil(rows / step) }, (_, i) => {
    const first = i * step;
    const shape = [Math.min(step, rows - first), cols];
    const at = { ...matrix, shape, offsetBytes: matrix.offsetBytes + first * rowBytes };
    const { scales } = matrix;
    if (scales === undefined) return { first, rows: shape[0] as number, view: at };
    const blocks = [shape[0] as number, cols / blockColumns];
    const part = { ...scales, shape: blocks, offsetBytes: scales.offsetBytes + first * scaleBytes };
    return { first, rows: shape[0] as number, view: { ...at, scales: part } };
  });
}

/** Smallest number of rows of `rowBytes` whose size is a multiple of the offset alignment (a power of two). */
export function alignedRows(rowBytes: number, alignment: number): number {
  let unit = 1;
  while ((unit * rowBytes) % alignment !== 0) unit *= 2;
  return unit;
}
