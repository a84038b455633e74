import { describe, expect, it } from "vitest";
import { sizeOf } from "../../src/core/shape.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import type { DecoderDescription } from "../../src/model/decoder.ts";
import { familyOf } from "../../src/model/families/registry.ts";
import { layOutParameters, parameterSpecs } from "../../src/model/parameter_layout.ts";
import { rotaryFrequencies } from "../../src/model/rotary.ts";
import { llamaConfig } from "./configs.ts";

function description(): DecoderDescription {
  const config = parseHfConfig(llamaConfig);
  return familyOf(config).describe(config);
}

describe("parameter layout", () => {
  it("aligns every parameter and counts without padding", () => {
    const specs = parameterSpecs(description());
    const layout = layOutParameters(specs, { maxSegmentBytes: 1 << 30, alignment: 256 });
    expect(layout.segmentBytes).toHaveLength(1);
    expect(layout.count).toBe(specs.reduce((n, s) => n + sizeOf(s.shape), 0));
    const placed = [...layout.parameters.values()];
    expect(placed.every((p) => p.offsetBytes % 256 === 0)).toBe(true);
    for (const [i, p] of placed.entries()) {
      const next = placed[i + 1]?.offsetBytes ?? (layout.segmentBytes[0] as number);
      expect(next - p.offsetBytes).toBeGreaterThanOrEqual(4 * sizeOf(p.shape));
    }
  });

  it("starts a new segment where a buffer would be too large", () => {
    const layout = layOutParameters(parameterSpecs(description()), { maxSegmentBytes: 4096, alignment: 256 });
    expect(layout.segmentBytes.length).toBeGreaterThan(2);
    expect(Math.max(...layout.segmentBytes)).toBeLessThanOrEqual(4096);
    for (const p of layout.parameters.values()) {
      expect(p.offsetBytes + 4 * sizeOf(p.shape)).toBeLessThanOrEqual(layout.segmentBytes[p.segment] as number);
    }
  });

  it("refuses a parameter no buffer can hold", () => {
    const tooSmall = { maxSegmentBytes: 1024, alignment: 256 };
    expect(() => layOutParameters(parameterSpecs(description()), tooSmall)).toThrow(
      'Parameter "embed" (40,16) takes 2560 bytes; this device allows 1024 in one buffer.',
    );
  });
});

describe("rotary frequencies", () => {
  const positions = { kind: "rotary", rotaryDim: 8, theta: 10000 } as const;
  const plain = rotaryFrequencies({ ...positions, scaling: { kind: "default" } });

  it("are powers of theta", () => {
    expect(Array.from(plain)).toEqual([1, 0.1, 0.01, 0.001].map(Math.fround));
  });

  it("are divided by a linear factor", () => {
    const scaled = rotaryFrequencies({ ...positions, scaling: { kind: "linear", factor: 4 } });
    expect(Array.from(scaled)).toEqual([0.25, 0.025, 0.0025, 0.00025].map(Math.fround));
  });

  it("keep short, stretch long and blend middle wavelengths for llama3", () => {
    const scaling = {
      kind: "llama3",
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalContextLength: 128,
    } as const;
    const scaled = rotaryFrequencies({ ...positions, scaling });
    // Wavelengths 6.3, 62.8, 628, 6283 against the bounds 32 and 128.
    expect(scaled[0]).toBe(plain[0]);
    const smooth = (128 / (2 * Math.PI * 10) - 1) / 3;
    expect(scaled[1]).toBeCloseTo((1 - smooth) * (0.1 / 8) + smooth * 0.1, 7);
    expect(scaled[2]).toBe(Math.fround(0.01 / 8));
    expect(scaled[3]).toBe(Math.fround(0.001 / 8));
  });
});
