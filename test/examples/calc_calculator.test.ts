import { describe, expect, it } from "vitest";
import { calculate } from "../../examples/calc/calculator.ts";

describe("calculator", () => {
  it.each([
    ["291-18", "273"],
    ["(41+52)*7", "651"],
    ["41+52*7", "405"],
    ["2*(3+4)-5", "9"],
    ["11-99", "-88"],
    ["-3*-4", "12"],
    ["5--3", "8"],
    ["+7", "7"],
    [" 1 + 2 ", "3"],
    ["((((2))))", "2"],
    ["10-3-2", "5"],
    ["100/5/2", "10"],
    ["7/2", "3.5"],
    ["1/3", "0.333"],
    ["6/3", "2"],
    ["0*-1", "0"],
    ["999999*999999", "999998000001"],
  ])("%s is %s", (expression, value) => {
    expect(calculate(expression)).toBe(value);
  });

  it.each([
    [""],
    ["   "],
    ["()"],
    ["1+"],
    ["*1"],
    ["(1"],
    ["1)"],
    ["1 2"],
    ["(3)(4)"],
    ["2**3"],
    ["7//2"],
    ["1/0"],
    ["0/0"],
    ["007"],
    ["1.5"],
    ["1,5"],
    ["2^3"],
    ["abc"],
    ["process.exit()"],
    ["1\n+1"],
    ["9999999*9999999"],
    [`1${"+1".repeat(32)}`],
  ])("%j is an error", (expression) => {
    expect(calculate(expression)).toBe("error");
  });

  it("takes 64 characters and no more", () => {
    expect(calculate(`11${"+1".repeat(31)}`)).toBe("42");
    expect(calculate(`111${"+1".repeat(31)}`)).toBe("error");
  });
});
