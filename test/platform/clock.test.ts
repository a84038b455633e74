import { describe, expect, it } from "vitest";
import { leydenVariables, systemClock, systemEntropy } from "../../src/platform/clock.ts";

describe("system clock", () => {
  it("sleeps about as long as asked", async () => {
    const before = systemClock.monotonic();
    await systemClock.sleep(30);
    expect(systemClock.monotonic() - before).toBeGreaterThanOrEqual(29);
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000);
  });

  it("ends a sleep when its signal fires, before or during it", async () => {
    const cancelled = { code: "cancelled", message: "A wait of 60000 ms was cancelled." };
    await expect(systemClock.sleep(60_000, AbortSignal.abort())).rejects.toMatchObject(cancelled);
    const controller = new AbortController();
    const sleep = systemClock.sleep(60_000, controller.signal);
    controller.abort();
    await expect(sleep).rejects.toMatchObject(cancelled);
  });

  it("is not disturbed by a signal that fires afterwards", async () => {
    const controller = new AbortController();
    await systemClock.sleep(1, controller.signal);
    controller.abort();
  });
});

describe("system entropy", () => {
  it("gives as many bytes as asked, past the source's own limit too", () => {
    const bytes = systemEntropy.bytes(200_000);
    expect(bytes).toHaveLength(200_000);
    // All 256 values in the last part: chance of a miss is below 1e-100.
    expect(new Set(bytes.subarray(131_072)).size).toBe(256);
    expect(systemEntropy.bytes(0)).toHaveLength(0);
    expect(systemEntropy.bytes(16)).not.toEqual(systemEntropy.bytes(16));
  });
});

describe("variables", () => {
  it("are ours and OpenTelemetry's only, and frozen", () => {
    const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318" };
    const env = leydenVariables({ LEYDEN_CACHE: "/c", HOME: "/root", XLEYDEN_: "no", LEYDEN_EMPTY: "", ...otel });
    expect(env).toEqual({ LEYDEN_CACHE: "/c", LEYDEN_EMPTY: "", ...otel });
    expect(Object.isFrozen(env)).toBe(true);
  });
});
