import type { PositionDescription, RotaryScaling } from "./decoder.ts";

/**
 * Rotation per position of each dimension pair: theta^(-2i/rotaryDim) stretched by the scaling rule, rotaryDim/2 values
 * computed in float64. Sources: Su et al. 2021 (arXiv:2104.09864); linear: Chen et al. 2023 (arXiv:2306.15595);
 * llama3: the Llama 3.1 release, wavelengths between the two bounds are blended.
 */
export function rotaryFrequencies(positions: Extract<PositionDescription, { kind: "rotary" }>): Float32Array {
  const { rotaryDim, theta, scaling } = positions;
  return Float32Array.from({ length: rotaryDim / 2 }, (_, i) => stretch(theta ** (-(2 * i) / rotaryDim), scaling));
}

function stretch(frequency: number, scaling: RotaryScaling): number {
  if (scaling.kind === "default") return frequency;
  if (scaling.kind === "linear") return frequency / scaling.factor;
  const { factor, lowFreqFactor, highFreqFactor, originalContextLength } = scaling;
  const wavelength = (2 * Math.PI) / frequency;
  if (wavelength < originalContextLength / highFreqFactor) return frequency;
  if (wavelength > originalContextLength / lowFreqFactor) return frequency / factor;
  const smooth = (originalContextLength / wavelength - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
  return (1 - smooth) * (frequency / factor) + smooth * frequency;
}
