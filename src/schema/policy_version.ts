/** Header of an own model's whole answer: the policy version that drew its last token. */
export const policyVersionHeader = "x-leyden-policy-version";
