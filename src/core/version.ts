/** Version of Leyden; the same as in package.json, which a test checks. */
export const version: string = "0.1.0";
