/** Numbers as learners type them: read as they are meant, or not at all. */
import { expect, it } from "vitest";
import { typedNumber } from "../../examples/lessons/judging.ts";

it.each([
  ["12", 12],
  ["１２", 12],
  [" －０．８５ ", -0.85],
  ["0,85", 0.85],
  ["0,125", 0.125],
  ["−3.5", -3.5],
  ["12,34", 12.34],
  [".5", 0.5],
  ["1e-3", 1e-3],
  ["1000", 1000],
])("%s is %d", (text, value) => {
  expect(typedNumber(text)).toBe(value);
});

it.each([
  "",
  "1,000",
  "１，０００",
  "1,000.5",
  "-2,500",
  "1,000,000",
  "1.2.3",
  "1,2,3",
  "0x10",
  "Infinity",
  "12%",
  "1 000",
  "many",
])("“%s” is none", (text) => {
  expect(typedNumber(text)).toBeNaN();
});
